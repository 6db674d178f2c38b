import { expect, test } from "vitest";
import type { TenantClient } from "../tenant-client.ts";
import type { UpgradeCheck } from "./upgrade-check.ts";
import { readWebhookChecks } from "./webhook-checks.ts";

const service = { namespace: "policy", name: "hook" };
const ask = (group: string, resource: string) => ({
  rules: [{ apiGroups: [group], resources: [resource] }],
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
    return { items: (objects[kind.plural] ?? []).map((item) => schema.parse(item)), next: undefined };
  };
  const checks: UpgradeCheck[] = [];
  for await (const one of readWebhookChecks({ listPage })) checks.push(one.check);
  return { checks, asked };
}

test.each<[string, object, string[]]>([
  ["that is asked about pods blocks", {}, ["blocking"]],
  ["that is asked about evictions blocks", ask("", "pods/eviction"), ["blocking"]],
  ["that is asked about nodes blocks", ask("", "nodes"), ["blocking"]],
  ["that is asked about everything blocks", ask("*", "*/*"), ["blocking"]],
  ["that is asked about others warns", ask("apps", "*"), ["warning"]],
  ["without rules warns", { rules: undefined }, ["warning"]],
  ["that may fail is left alone", { failurePolicy: "Ignore" }, []],
  ["at a URL is left alone", { clientConfig: {} }, []],
])("a webhook %s", async (_name, changes, severities) => {
  const { checks } = await check([webhook(changes)]);
  expect(checks.map(({ severity }) => severity)).toEqual(severities);
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
