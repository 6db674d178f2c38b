import { expect, test } from "vitest";
import { pointAtPort } from "./cluster-api.ts";
import { collectionPathOf } from "./kube-api.ts";

test.each([
  ["v1", "Namespace", undefined, "/api/v1/namespaces"],
  ["v1", "ConfigMap", "marina-system", "/api/v1/namespaces/marina-system/configmaps"],
  [
    "cluster.x-k8s.io/v1beta2",
    "ClusterClass",
    "a",
    "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/clusterclasses",
  ],
  [
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicy",
    undefined,
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
  ],
])("objects of %s %s are where the API has them", (apiVersion, kind, namespace, path) => {
  const metadata = { name: "x", ...(namespace === undefined ? {} : { namespace }) };
  expect(collectionPathOf({ apiVersion, kind, metadata })).toBe(path);
});

test("a webhook that names a Service is pointed at a local port, with the authority to trust", () => {
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "x" },
    webhooks: [
      { name: "a.b.c", clientConfig: { service: { name: "s", namespace: "n", path: "/validate" } } },
    ],
  };
  expect(pointAtPort(configuration, 9443, "CA").webhooks).toEqual([
    { name: "a.b.c", clientConfig: { url: "https://127.0.0.1:9443/validate", caBundle: "Q0E=" } },
  ]);
});
