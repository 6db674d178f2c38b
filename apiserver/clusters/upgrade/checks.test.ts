import { expect, test } from "vitest";
import { KubeError } from "../../../shared/kube/errors.ts";
import { createTenantClient } from "../../../shared/tenant/tenant-client.ts";
import type { ProjectedCluster } from "../../resources/project/index.ts";
import type { TenantReader } from "../tenant-reader.ts";
import { readUpgradeChecks } from "./checks.ts";

/** What the paths with these ends answer: a body, an error, or undefined for 500. */
type Answers = Record<string, unknown>;
const NO_METRICS = { "/metrics": "apiserver_x 1\n" };
const EMPTY_TABLE = { columnDefinitions: [], rows: [] };
const VERSION = { "/version": { gitVersion: "v1.34.2" } };

/** The checks of an upgrade to 1.35.1 of a cluster with these answers, and else empty lists. */
async function read(answers: Answers) {
  const answerOf = (path: string) => {
    const all = { ...(!("" in answers) && VERSION), ...answers };
    const [, body] = Object.entries(all).find(([end]) => path.endsWith(end)) ?? [
      "",
      { ...EMPTY_TABLE, items: [] },
    ];
    if (body instanceof Error) throw body;
    return body;
  };
  const request = async ({ path }: { path: string }) => {
    const body = answerOf(path);
    if (typeof body !== "object") return { status: body === undefined ? 500 : 200, headers: {}, body };
    return { status: 200, headers: {}, body: { metadata: {}, ...body } };
  };
  const openStream = async ({ path }: { path: string }) => {
    const body = answerOf(path);
    if (body === undefined) throw new KubeError({ status: 500, reason: "", kubeMessage: "" });
    return (async function* () {
      yield* (typeof body === "string" ? body : "").split("\n");
    })();
  };
  const transport = { request, openStream } as unknown as Parameters<typeof createTenantClient>[0];
  const options = {
    signal: new AbortController().signal,
    mayWrite: () => false,
    certificates: () => ({ authorities: [], server: undefined }),
  };
  const reader: TenantReader = { read: (_cluster, use) => use(createTenantClient(transport, options)) };
  return (await readUpgradeChecks(reader, {} as ProjectedCluster, "1.35.1")).checks;
}

const metric = (release: string, { resource = "budgets", group = "policy" } = {}) =>
  `apiserver_requested_deprecated_apis{group="${group}",removed_release="${release}",resource="${resource}",subresource="",version="v1beta1"} 1`;
const unknown = (name: string, message = expect.any(String)) =>
  expect.objectContaining({
    check: "unknown",
    severity: "warning",
    object: expect.objectContaining({ name }),
    message,
  });

test("without a new version nothing is read", async () => {
  const reader = { read: () => Promise.reject(new Error("read")) };
  expect(await readUpgradeChecks(reader, {} as ProjectedCluster, undefined)).toEqual({});
});

test.each([
  ["that the target removes is found", metric("1.35"), ["budgets.v1beta1.policy"]],
  ["that an earlier version removed is found", metric("1.9"), ["budgets.v1beta1.policy"]],
  ["of the core group has no group in its name", metric("1.35", { group: "" }), ["budgets.v1beta1"]],
  ["that a later version removes is not", metric("1.36"), []],
  ["that nobody removes yet is not", metric(""), []],
  ["with a release that is no version is not", `${metric("next")}\n${metric("01.2")}\n${metric("1.02")}`, []],
  ["is named once", `${metric("1.35")}\n${metric("1.35")}`, ["budgets.v1beta1.policy"]],
  ["in a comment is not", `# ${metric("1.35")}`, []],
  ["with a name that no API has is not", metric("1.35", { group: "x".repeat(151) }), []],
])("an API that was requested %s", async (_name, lines, expected) => {
  const metrics = `# TYPE a counter\nother{group="a"} 2\n${lines}\napiserver_x 1\n`;
  expect(await read({ "/metrics": metrics })).toEqual(
    expected.map((name) =>
      expect.objectContaining({
        check: "removed_api",
        severity: "blocking",
        object: { kind: "APIResource", namespace: null, name },
      }),
    ),
  );
});

test("of more than 100 of a kind 100 are listed, and that there are more", async () => {
  const lines = Array.from({ length: 102 }, (_, index) => metric("1.35", { resource: `r${index}` }));
  const checks = await read({ "/metrics": lines.join("\n") });
  expect(checks).toHaveLength(101);
  expect(checks).toContainEqual(unknown("/metrics", "More than 100 were found; the others are not listed."));
});

test("blocking checks come first, and what did not answer in time is unknown beside what did", async () => {
  const error = new KubeError({ status: 0, reason: "Aborted", kubeMessage: "This operation was aborted" });
  const checks = await read({ "/metrics": metric("1.35"), "": error });
  const message = "The cluster did not answer in time.";
  expect(checks).toEqual([
    expect.objectContaining({ check: "removed_api" }),
    unknown("poddisruptionbudgets.v1.policy", message),
    unknown("webhookconfigurations.v1.admissionregistration.k8s.io", message),
    unknown("nodes.v1", message),
    unknown("/version", message),
  ]);
});

test.each<[string, Answers, string]>([
  ["budgets that cannot be read", { "/poddisruptionbudgets": undefined }, "poddisruptionbudgets.v1.policy"],
  ["metrics that are a page", { "/metrics": "<html>" }, "/metrics"],
  ["a version that is none", { "/version": {} }, "/version"],
  [
    "webhooks without a name",
    { "/validatingwebhookconfigurations": { items: [{ metadata: { name: "a" }, webhooks: [{}] }] } },
    "webhookconfigurations.v1.admissionregistration.k8s.io",
  ],
])("%s are unknown, never no check", async (_name, answers, name) => {
  expect(await read({ ...NO_METRICS, ...answers })).toEqual([unknown(name)]);
});

test("nodes without a version are unknown, and so are the pods on them", async () => {
  const checks = await read({
    ...NO_METRICS,
    "/nodes": { columnDefinitions: [], rows: [{ cells: [], object: { metadata: { name: "a" } } }] },
  });
  expect(checks).toEqual([unknown("poddisruptionbudgets.v1.policy"), unknown("nodes.v1")]);
});

test.each<[string, Answers]>([
  ["fails", { "": undefined }],
  ["sends HTML", { "": "<html>" }],
])("an API server that %s makes all checks unknown", async (_name, answers) => {
  await expect(read(answers)).rejects.toThrow(KubeError);
});
