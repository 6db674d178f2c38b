import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStack } from "../../../e2e/platform/stack/testing.ts";
import { createClient, type KubeClient } from "../../kube/client.ts";
import { loadConnection } from "../../kube/connection.ts";
import { namespaceKind } from "../../kube/core-kinds.ts";
import { defineKind, type KubeObject } from "../../kube/kind.ts";
import { createTransport, type Transport } from "../../kube/transport.ts";
import { createTenantClient } from "../tenant-client.ts";
import { readUpgradeChecks } from "./read-checks.ts";

const name = `odd-${randomUUID()}`;
const me = { fieldManager: "me" };
const webhookKind = defineKind<KubeObject & { webhooks: object[] }>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
});
const budgetKind = defineKind<KubeObject & { spec: object }>({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
});
let transport: Transport;
let client: KubeClient;

beforeAll(async () => {
  transport = createTransport({ connection: loadConnection(readStack().kubeconfig) });
  client = createClient(transport);
  await client.create(namespaceKind, { metadata: { name } }, me);
});
afterAll(async () => {
  await client.delete(webhookKind, undefined, name);
  await client.delete(namespaceKind, undefined, name);
  await transport.close();
});

/** A kind that no cluster has, so that nothing waits for it. */
const webhook = (of: string, service: string) => ({
  name: of,
  clientConfig: { service: { namespace: name, name: service } },
  rules: [{ apiGroups: [name], apiVersions: ["*"], operations: ["*"], resources: ["*"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
});

test("of objects that kube-apiserver takes and that cannot be asked with, each is found by itself", async () => {
  const webhooks = [
    webhook("words.example.com", "two words"),
    webhook("long.example.com", "x".repeat(300)),
    webhook("plain.example.com", "nobody"),
  ];
  await client.create(webhookKind, { metadata: { name }, webhooks }, me);
  const keys = Array.from({ length: 101 }, (_, index) => [`key-${index}`, ""]);
  const selector = { matchLabels: Object.fromEntries(keys) };
  const spec = { selector, maxUnavailable: 0 };
  await client.create(budgetKind, { metadata: { name, namespace: name }, spec }, me);
  const reader = createTenantClient(transport, {
    signal: new AbortController().signal,
    mayWrite: () => false,
    certificates: () => ({ authorities: [], server: undefined }),
  });
  const checks = (await readUpgradeChecks(reader, ["1.35.1"])).get("1.35.1") ?? [];
  const found = checks.filter(({ object }) => object.name === name);
  expect(found.map(({ check, severity, object }) => [check, severity, object.kind])).toEqual([
    ["unknown", "warning", "PodDisruptionBudget"],
    ["webhook_without_endpoint", "warning", "ValidatingWebhookConfiguration"],
    ["webhook_without_endpoint", "warning", "ValidatingWebhookConfiguration"],
    ["webhook_without_endpoint", "warning", "ValidatingWebhookConfiguration"],
  ]);
});
