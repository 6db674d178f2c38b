import type { RequestListener } from "node:http";
import { afterEach, expect, test } from "vitest";
import { createTestServers } from "../../../shared/tenant/testing-server.ts";
import { readChecks } from "../tenant-reader.ts";
import { aCluster, aKubeconfig, createReader, json, listOf, manyKeys } from "../testing-tenant.ts";

const { authority, serve, stopAll } = await createTestServers();
afterEach(stopAll);

const tableOf = (names: string[], rows: object[]) => ({
  ...listOf([]),
  columnDefinitions: names.map((name) => ({ name })),
  rows,
});
const budget = (namespace: string, matchLabels: object) => ({
  metadata: { name: "web", namespace, generation: 1 },
  spec: { selector: { matchLabels } },
  status: { disruptionsAllowed: 0, expectedPods: 1, observedGeneration: 1 },
});
const webhooks = (name: string, service: string) => ({
  metadata: { name },
  webhooks: [
    {
      name: "hook.example.com",
      clientConfig: { service: { namespace: "policy", name: service } },
      rules: [{ apiGroups: [""], operations: ["CREATE"], resources: ["pods"] }],
    },
  ],
});

/** A cluster with objects that kube-apiserver takes and that cannot be asked with, each before one that blocks. */
const ANSWERS: Record<string, unknown> = {
  "/api/v1/nodes": tableOf(
    ["Version", "Status"],
    [{ cells: ["v1.34.2", "Ready"], object: { metadata: { name: "old" } } }],
  ),
  "/apis/policy/v1/poddisruptionbudgets": listOf([
    budget("aaa", manyKeys(300_000)),
    budget("bbb", { app: "refused" }),
    budget("shop", { app: "web" }),
  ]),
  "/api/v1/namespaces/shop/pods": tableOf(
    ["Node", "Ready", "Readiness Gates"],
    [{ cells: ["old", "1/1", "<none>"], object: { metadata: {} } }],
  ),
  "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": listOf([
    webhooks("odd", "two words"),
    webhooks("plain", "hook"),
  ]),
  "/metrics": "apiserver_x 1",
  "/version": { gitVersion: "v1.34.2" },
};

const respond: RequestListener = (request, response) => {
  const { pathname } = new URL(request.url ?? "", "https://tenant");
  if (pathname === "/api/v1/namespaces/bbb/pods")
    return json({ kind: "Status", code: 400, message: "unable to parse" }, 400)(request, response);
  const body = ANSWERS[pathname];
  if (typeof body === "string") return void response.end(body);
  json(body ?? listOf([]))(request, response);
};

test("what blocks an upgrade is found beside objects that cannot be asked with", async () => {
  const url = await serve(respond);
  const reader = createReader(aKubeconfig(url, authority.certificate));
  const checks = (await readChecks(reader, aCluster(url), ["1.35.1"]))("1.35.1");
  const found = [checks]
    .flat()
    .map((one) =>
      "unknown" in one ? one : [one.check, one.severity, one.object.namespace, one.object.name],
    );
  expect(found).toEqual([
    ["pods_not_evictable", "blocking", "shop", "web"],
    ["webhook_without_endpoint", "blocking", null, "odd"],
    ["webhook_without_endpoint", "blocking", null, "plain"],
    ["unknown", "warning", "aaa", "web"],
    ["unknown", "warning", "bbb", "web"],
  ]);
});
