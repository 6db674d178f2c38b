import { afterEach, expect, test } from "vitest";
import { createLogger } from "../log.ts";
import { defineKind, type KubeObject } from "./kind.ts";
import { findMissingKinds, requireKinds } from "./required-kinds.ts";
import { json, type Responder, startTestServer, status } from "./testing.ts";
import { createTransport } from "./transport.ts";

const kindOf = (group: string, plural: string) =>
  defineKind<KubeObject>({ group, version: "v1", kind: plural, plural, namespaced: true });
const apples = kindOf("fruit.test", "apples");
const pears = kindOf("fruit.test", "pears");
const oaks = kindOf("trees.test", "oaks");
const log = createLogger({ name: "test", level: "fatal" });

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function connect(...responders: [Responder, ...Responder[]]) {
  const server = await startTestServer(...responders);
  const transport = createTransport({ connection: { server: server.url } });
  open.push(
    () => transport.close(),
    () => server.close(),
  );
  return { server, transport };
}

test.each([
  { what: "all are served", served: { "fruit.test/v1": ["apples", "apples/status", "pears"] }, missing: [] },
  { what: "one is not served", served: { "fruit.test/v1": ["apples"] }, missing: [pears] },
  {
    what: "only a subresource is served",
    served: { "fruit.test/v1": ["apples", "pears/status"] },
    missing: [pears],
  },
  {
    what: "another version is served",
    served: { "fruit.test/v2": ["apples", "pears"] },
    missing: [apples, pears],
  },
  { what: "the group does not exist", served: {}, missing: [apples, pears] },
])("the kinds that are missing are found when $what", ({ served, missing }) => {
  const names = new Map(Object.entries(served).map(([version, plurals]) => [version, new Set(plurals)]));
  expect(findMissingKinds([apples, pears], names)).toEqual(missing);
});

test("one request for each group and version is enough when every kind is served", async () => {
  const { server, transport } = await connect(
    json(200, { resources: [{ name: "apples" }, { name: "pears" }] }),
  );
  await requireKinds(transport, [apples, pears], log);
  expect(server.received.map(({ path }) => path)).toEqual(["/apis/fruit.test/v1"]);
});

test("every missing CustomResourceDefinition is named", async () => {
  const { transport } = await connect(status(404, "NotFound"));
  const message =
    "The management cluster has no CustomResourceDefinition for:\n  apples.fruit.test (version v1)\n  oaks.trees.test (version v1)";
  await expect(requireKinds(transport, [apples, oaks], log)).rejects.toThrow(message);
}, 30_000);

test("a definition that is served only at the second look is not missing", async () => {
  const { transport } = await connect(
    status(404, "NotFound"),
    json(200, { resources: [{ name: "apples" }] }),
  );
  await expect(requireKinds(transport, [apples], log)).resolves.toBeUndefined();
}, 30_000);

test("a server that refuses to tell its kinds stops nobody", async () => {
  const { transport } = await connect(status(403, "Forbidden"));
  await expect(requireKinds(transport, [apples], log)).resolves.toBeUndefined();
}, 30_000);
