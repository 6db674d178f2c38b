import { expect, test } from "vitest";
import { KubeError } from "../../kube/errors.ts";
import type { TenantClient } from "../tenant-client.ts";
import type { UpgradeCheck } from "./upgrade-check.ts";
import { readWebhookChecks } from "./webhook-checks.ts";

const service = { namespace: "policy", name: "hook" };
const ask = (group: string, resource: string, ...operations: string[]) => ({
  rules: [
    { apiGroups: [group], operations: operations.length > 0 ? operations : ["*"], resources: [resource] },
  ],
});
const webhook = (changes: object = {}) => ({
  name: "hook.example.com",
  clientConfig: { service },
  ...ask("", "pods"),
  ...changes,
});

/** The checks of these webhooks in one configuration, and how their Services were asked for. */
async function check(webhooks: object[], slices: object[] = []) {
  const asked: string[] = [];
  const objects: Record<string, object[]> = {
    validatingwebhookconfigurations: [{ metadata: { name: "hooks" }, webhooks }],
    endpointslices: slices,
  };
  const listPage: TenantClient["listPage"] = async ({ kind, schema }, selector, _next, namespace) => {
    if (kind.plural === "endpointslices") asked.push(`${namespace} ${selector}`);
    if (namespace === "refused")
      throw new KubeError({ status: 400, reason: "BadRequest", kubeMessage: "unable to parse" });
    return { items: (objects[kind.plural] ?? []).map((item) => schema.parse(item)), next: undefined };
  };
  const checks: UpgradeCheck[] = [];
  for await (const one of readWebhookChecks({ listPage })) checks.push(one.check);
  return { checks, asked };
}

const SOME = { matchLabels: { app: "web" } };
const EXCEPT = { matchExpressions: [{ key: "a", operator: "NotIn", values: ["b"] }] };
const CONDITIONS = { matchConditions: [{ name: "a", expression: "false" }] };

test.each<[string, object, string[]]>([
  ["that is asked about pods blocks", {}, ["blocking"]],
  ["that is asked about evictions blocks", ask("", "pods/eviction", "CREATE"), ["blocking"]],
  ["that is asked about the binding of pods blocks", ask("", "pods/binding", "CREATE"), ["blocking"]],
  ["that is asked about what kubelets report blocks", ask("", "pods/status", "UPDATE"), ["blocking"]],
  ["that is asked about the subresources of all blocks", ask("", "*/*", "CREATE"), ["blocking"]],
  ["that is asked about nodes blocks", ask("", "nodes", "UPDATE"), ["blocking"]],
  ["that is asked about everything blocks", ask("*", "*/*"), ["blocking"]],
  ["that is asked about others warns", ask("apps", "*"), ["warning"]],
  ["that is asked about commands in pods warns", ask("", "pods/exec", "CONNECT"), ["warning"]],
  ["that is asked about other subresources of pods warns", ask("", "pods/log"), ["warning"]],
  ["that is asked about other subresources of nodes warns", ask("", "nodes/proxy"), ["warning"]],
  ["that is asked about connections alone warns", ask("*", "*/*", "CONNECT"), ["warning"]],
  ["that is asked about changes of pods alone warns", ask("", "pods", "UPDATE"), ["warning"]],
  ["without rules warns", { rules: undefined }, ["warning"]],
  ["for some namespaces warns", { namespaceSelector: SOME }, ["warning"]],
  ["for all namespaces but one warns", { namespaceSelector: EXCEPT }, ["warning"]],
  ["for some namespaces and nodes blocks", { ...ask("", "*"), namespaceSelector: EXCEPT }, ["blocking"]],
  ["for some pods warns", { objectSelector: SOME }, ["warning"]],
  ["for some nodes warns", { ...ask("", "nodes"), objectSelector: EXCEPT }, ["warning"]],
  ["with conditions warns", CONDITIONS, ["warning"]],
  [
    "whose selectors and conditions are empty blocks",
    { namespaceSelector: {}, objectSelector: { matchLabels: {}, matchExpressions: [] }, matchConditions: [] },
    ["blocking"],
  ],
  ["that may fail is left alone", { failurePolicy: "Ignore" }, []],
  ["at a URL is left alone", { clientConfig: {} }, []],
])("a webhook %s", async (_name, changes, severities) => {
  const { checks } = await check([webhook(changes)]);
  expect(checks.map(({ severity }) => severity)).toEqual(severities);
});

test.each<[string, object, boolean]>([
  ["selects namespaces", { namespaceSelector: EXCEPT }, true],
  ["selects objects", { objectSelector: SOME }, true],
  ["has conditions", CONDITIONS, true],
  ["is asked about others", { ...ask("apps", "*"), objectSelector: SOME }, false],
])("the warning of a webhook that %s says whether it may be asked: %s", async (_name, changes, isSaid) => {
  const { checks } = await check([webhook(changes)]);
  const said = "selectors or matchConditions may leave out what the upgrade writes";
  expect(checks.map(({ message }) => message.includes(said))).toEqual([isSaid]);
});

test.each<[string, object]>([
  ["a name that no label has", { name: "a hook" }],
  ["a name that is too long", { name: "x".repeat(64) }],
  ["a namespace that is too long", { namespace: "x".repeat(64) }],
  ["a name of half a MB", { name: "x".repeat(500_000) }],
])("a Service with %s has no endpoint, and is not asked for", async (_name, change) => {
  const { checks, asked } = await check([webhook({ clientConfig: { service: { ...service, ...change } } })]);
  expect(checks).toEqual([expect.objectContaining({ severity: "blocking" })]);
  expect(checks[0]?.message.length).toBeLessThan(500);
  expect(asked).toEqual([]);
});

test("a Service that cannot be read is unknown, asked for once, and hides no webhook behind it", async () => {
  const clientConfig = { service: { ...service, namespace: "refused" } };
  const { checks, asked } = await check([webhook({ clientConfig }), webhook({ clientConfig }), webhook()]);
  const unknown = expect.objectContaining({
    check: "unknown",
    severity: "warning",
    object: { kind: "ValidatingWebhookConfiguration", namespace: null, name: "hooks" },
    message: "The API server of the cluster could not be read: unable to parse",
  });
  expect(checks).toEqual([unknown, unknown, expect.objectContaining({ severity: "blocking" })]);
  expect(asked).toHaveLength(2);
});

test("what a cluster calls its webhooks and Services stands in the message without marks that are not seen", async () => {
  const clientConfig = { service: { namespace: "pol\u0000icy", name: "ho\u202eok" } };
  const { checks } = await check([webhook({ name: "a\nb", clientConfig })]);
  expect(checks.map(({ message }) => message)).toEqual([
    "The webhook a\uFFFDb refuses what it is asked about: its Service pol\uFFFDicy/ho\uFFFDok has no endpoint that is ready.",
  ]);
});

test.each<[string, object[], boolean]>([
  ["no slice", [], false],
  ["a slice without endpoints", [{ endpoints: null }], false],
  ["endpoints that are not ready", [{ endpoints: [{ conditions: { ready: false } }] }], false],
  ["a ready one in the second slice", [{ endpoints: [] }, { endpoints: [{ conditions: {} }] }], true],
  ["one that says nothing", [{ endpoints: [{}] }], true],
])("a Service with %s has an endpoint: %s", async (_name, slices, isServed) => {
  expect((await check([webhook()], slices)).checks).toHaveLength(isServed ? 0 : 1);
});

test("the Service of two webhooks is asked for once, and each of them is a check", async () => {
  const { checks, asked } = await check([webhook(), webhook({ name: "other.example.com" })]);
  expect(asked).toEqual(["policy kubernetes.io/service-name=hook"]);
  expect(checks.map(({ message }) => message)).toEqual([
    expect.stringContaining("hook.example.com"),
    expect.stringContaining("other.example.com"),
  ]);
});
