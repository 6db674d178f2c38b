import { expect, test } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { LABEL_CAPI_CLUSTER } from "../capi/kinds.ts";
import { aCluster, CLUSTER_ID, NAMESPACE } from "../cluster/testing.ts";
import { findWoken } from "../testing-changes.ts";
import { chooseAutoscalerImage, clusterOfAutoscaler, composeAutoscaler, nameAutoscaler } from "./children.ts";
import { watchAutoscalers } from "./controller.ts";

const defaults = {
  drainTimeoutSeconds: 600,
  scaleDownDelaySeconds: 900,
  scaleDownUtilizationPercent: 40,
  volumeDetachTimeoutSeconds: 60,
  nodeDeletionTimeoutSeconds: 10,
};
const input = { image: "registry.example/autoscaler:1", kubeconfigRevision: "uid/7", defaults };
const children = composeAutoscaler(aCluster(), CLUSTER_ID, input);

test("an autoscaler is one Deployment and its permissions, all with one name, owned by the Cluster", () => {
  expect(Object.values(children).map(({ kind }) => kind)).toEqual([
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "Deployment",
  ]);
  for (const object of Object.values(children)) {
    expect(object.metadata).toMatchObject({
      name: "blue-autoscaler",
      namespace: NAMESPACE,
      labels: { "cloud.marina.dev/cluster-id": CLUSTER_ID },
      ownerReferences: [{ kind: "Cluster", name: "blue", uid: "cluster-uid" }],
    });
  }
});

test("it manages its own cluster only, and takes the platform's defaults", () => {
  const { spec } = children.deployment;
  const [container] = spec?.template.spec?.containers ?? [];
  expect(container?.image).toBe("registry.example/autoscaler:1");
  expect(container?.args).toEqual([
    "--cloud-provider=clusterapi",
    `--node-group-auto-discovery=clusterapi:namespace=${NAMESPACE},clusterName=blue`,
    "--kubeconfig=/etc/kubernetes/cluster/value",
    "--clusterapi-cloud-config-authoritative",
    "--enforce-node-group-min-size=true",
    "--scale-down-unneeded-time=900s",
    "--scale-down-utilization-threshold=0.4",
    "--leader-elect=false",
  ]);
  expect(spec?.template.spec?.volumes).toEqual([
    { name: "kubeconfig", secret: { secretName: "blue-kubeconfig" } },
  ]);
});

test("its Pods run as whom, where and with how much the platform says, and by default as no root", () => {
  const placement = {
    nodeSelector: { role: "platform" },
    tolerations: [{ key: "platform", operator: "Exists" }],
    affinity: { nodeAffinity: {} },
    priorityClassName: "platform-critical",
  };
  const resources = { limits: { memory: "1Gi" } };
  const pod = {
    ...placement,
    podSecurityContext: { runAsNonRoot: true },
    containerSecurityContext: { privileged: false },
    resources,
  };
  const specOf = (given: object) =>
    composeAutoscaler(aCluster(), CLUSTER_ID, { ...input, ...given }).deployment.spec?.template.spec;
  const spec = specOf({ pod });
  expect(spec).toMatchObject(placement);
  expect(spec?.securityContext).toEqual({ runAsNonRoot: true });
  expect(spec?.containers[0]).toMatchObject({ resources, securityContext: { privileged: false } });
  const usual = specOf({});
  expect(usual?.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532 });
  expect(usual?.containers[0]).toMatchObject({
    resources: { limits: { memory: "600Mi" } },
    securityContext: { readOnlyRootFilesystem: true },
  });
});

test("the cluster is found by the name", () => {
  expect(clusterOfAutoscaler(nameAutoscaler("blue"))).toBe("blue");
  expect(clusterOfAutoscaler(nameAdminSecret("blue"))).toBeUndefined();
});

test("it is replaced with another kubeconfig, and restarted when it stands still", () => {
  const { template } = children.deployment.spec ?? {};
  const again = composeAutoscaler(aCluster(), CLUSTER_ID, { ...input, kubeconfigRevision: "uid/8" });
  expect(again.deployment.spec?.template).not.toEqual(template);
  expect(composeAutoscaler(aCluster(), CLUSTER_ID, input).deployment.spec?.template).toEqual(template);
  expect(template?.spec?.containers?.[0]).toMatchObject({
    livenessProbe: { httpGet: { path: "/health-check", port: 8085 } },
  });
});

test("another kubeconfig is looked at, and no other Secret", () => {
  const wokenBy = (name: string) => {
    const metadata = { name, namespace: NAMESPACE, labels: { [LABEL_CAPI_CLUSTER]: "blue" } };
    const object = { apiVersion: "v1", kind: "Secret", metadata };
    return findWoken(watchAutoscalers, {}, "clusterSecrets", { object });
  };
  expect(wokenBy("blue-kubeconfig")).toEqual([`${NAMESPACE}/blue`]);
  expect(wokenBy("blue-ca")).toEqual([]);
});

test.each([
  ["example.test/autoscaler:v{minor}.0", "1.34.2", "example.test/autoscaler:v1.34.0"],
  ["example.test/autoscaler:v{minor}.0", undefined, undefined],
  ["example.test/autoscaler:v1.35.0", undefined, "example.test/autoscaler:v1.35.0"],
])("the image %s of a cluster with Kubernetes %s is %s", (image, version, chosen) => {
  expect(chooseAutoscalerImage(image, version)).toBe(chosen);
});
