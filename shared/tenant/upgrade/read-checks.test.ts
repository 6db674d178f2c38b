import { expect, test } from "vitest";
import { KubeError, toKubeError } from "../../kube/errors.ts";
import { createTenantClient } from "../tenant-client.ts";
import { readUpgradeChecks } from "./read-checks.ts";

/** What the paths with these ends answer: a body, an error, or undefined for 500. */
type Answers = Record<string, unknown>;
const NO_METRICS = { "/metrics": "apiserver_x 1\n" };
const EMPTY_TABLE = { columnDefinitions: [], rows: [] };
const VERSION = { "/version": { gitVersion: "v1.34.2" } };

/** The checks of an upgrade to 1.35.1 of a cluster with these answers, and else empty lists. */
async function read(answers: Answers) {
  return (await readAll(answers, ["1.35.1"])).get("1.35.1");
}

async function readAll(answers: Answers, targets: string[], paths: string[] = []) {
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
    paths.push(path);
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
  return readUpgradeChecks(createTenantClient(transport, options), targets);
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

/** A node with a kubelet of this version; 1.31 is too old for 1.35. */
const node = (version: string) => ({ cells: [version, "Ready"], object: { metadata: { name: version } } });
const tableOf = (names: string[], rows: object[]) => ({
  columnDefinitions: names.map((name) => ({ name })),
  rows,
});

test("what blocks is listed, whatever was found before it that does not", async () => {
  const rows = [...Array.from({ length: 150 }, () => node("v1.36.0")), node("v1.31.0")];
  const checks = (await read({ ...NO_METRICS, "/nodes": tableOf(["Version", "Status"], rows) })) ?? [];
  expect(checks).toHaveLength(101);
  expect(checks[0]).toMatchObject({ severity: "blocking", object: { name: "v1.31.0" } });
  expect(checks.at(-1)).toEqual(unknown("nodes.v1", "More than 100 were found; the others are not listed."));
});

test.each([
  ["a message of the API server", { message: "no\u202e\u0000way" }, "no\uFFFD\uFFFDway"],
  ["a page of half a MB", { message: "\n".repeat(500_000) }, "\uFFFD".repeat(300)],
])("%s stands in a check without marks that are not seen, and cut", async (_name, body, expected) => {
  const error = toKubeError({ status: 500, headers: {}, body: { kind: "Status", ...body } }, "GET");
  const checks = await read({ ...NO_METRICS, "/poddisruptionbudgets": error });
  const message = `The API server of the cluster could not be read: ${expected}`;
  expect(checks).toEqual([unknown("poddisruptionbudgets.v1.policy", message)]);
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

test("each target has its own checks, for which nodes, budgets and pods are read once", async () => {
  const metadata = { name: "web", namespace: "shop", generation: 1 };
  const status = { disruptionsAllowed: 0, expectedPods: 1, currentHealthy: 1, desiredHealthy: 1 };
  const answers = {
    "/metrics": `apiserver_x 1\n${metric("1.36")}`,
    "/poddisruptionbudgets": { items: [{ metadata, spec: { selector: {} }, status }] },
    "/nodes": tableOf(["Version", "Status"], [node("v1.35.1"), node("v1.32.0")]),
    "/pods": tableOf(
      ["Node", "Ready", "Readiness Gates"],
      [{ cells: ["v1.35.1", "1/1", "<none>"], object: { metadata: {} } }],
    ),
  };
  const paths: string[] = [];
  const found = await readAll(answers, ["1.35.1", "1.36.0"], paths);
  const named = [...found].map(([target, checks]) => [target, checks.map(({ check }) => check)]);
  expect(named).toEqual([
    ["1.35.1", []],
    ["1.36.0", ["pods_not_evictable", "removed_api", "version_skew"]],
  ]);
  const ends = ["/nodes", "/poddisruptionbudgets", "/pods"];
  expect(ends.map((end) => paths.filter((path) => path.endsWith(end)).length)).toEqual([1, 1, 1]);
});
