import { afterEach, expect, test } from "vitest";
import { createLogger } from "../program/log.ts";
import { defineKind, type KubeObject } from "./kind.ts";
import {
  findMissingKinds,
  findNewer,
  findOlder,
  listFields,
  type Requirement,
  requireKinds,
} from "./required-kinds.ts";
import { json, type Responder, startTestServer, status } from "./testing.ts";
import { createTransport, type Transport } from "./transport.ts";

const kindOf = (group: string, kind: string, plural: string) =>
  defineKind<KubeObject>({ group, version: "v1", kind, plural, namespaced: true });
const apple = { kind: kindOf("fruit.test", "Apple", "apples"), fields: ["spec", "spec.taste"] };
const pear = { kind: kindOf("fruit.test", "Pear", "pears"), fields: [] };
const oak = { kind: kindOf("trees.test", "Oak", "oaks"), fields: [] };
const fruit: Requirement = {
  kinds: [apple, pear],
  remedy: "plant it",
  newerRemedy: "learn of it",
};
const trees: Requirement = { kinds: [oak], remedy: "sow it" };
const log = createLogger({ name: "test", level: "fatal" });

const schemaWith = (...fields: string[]) => ({
  properties: {
    kind: {},
    spec: { properties: Object.fromEntries(fields.map((field) => [field, {}])) },
  },
});
const tasty = schemaWith("taste");

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
  // Without the program's own deadline of a request, which is no promise of the server.
  const patient: Pick<Transport, "request"> = {
    request: (request) => transport.request({ ...request, timeoutMs: undefined }),
  };
  return { server, transport: patient };
}

/** A server of fruit.test/v1 that has served these kinds, all with a taste, and serves those of `still` now. */
function serve(kinds: string[], still = kinds): Responder {
  const schemas = kinds.map((kind) => [
    `test.fruit.v1.${kind}`,
    { ...tasty, "x-kubernetes-group-version-kind": [{ group: "fruit.test", version: "v1", kind }] },
  ]);
  const document = { components: { schemas: Object.fromEntries(schemas) } };
  const resources = { resources: still.map((kind) => ({ kind })) };
  return (response, request) =>
    json(200, request.path.startsWith("/openapi/") ? document : resources)(response, request);
}

const served = (kinds: Record<string, object>) =>
  new Map([["fruit.test/v1", new Map(Object.entries({ Pear: {}, ...kinds }))]]);

test.each([
  ["all is served", served({ Apple: tasty }), []],
  ["it has more fields", served({ Apple: schemaWith("taste", "smell") }), []],
  ["no schema is published", served({ Apple: {} }), []],
  [
    "a kind is missing",
    served({}),
    ["The management cluster has no CustomResourceDefinition apples.fruit.test (version v1): plant it."],
  ],
  [
    "the group is missing",
    new Map(),
    [
      "The management cluster has no CustomResourceDefinition apples.fruit.test (version v1), pears.fruit.test (version v1): plant it.",
    ],
  ],
  [
    "a field is missing",
    served({ Apple: schemaWith("smell") }),
    [
      "CustomResourceDefinitions are older than this program, apples.fruit.test (without spec.taste): plant it.",
    ],
  ],
])("what to do is one sentence when %s", (_, schemas, faults) => {
  expect([...findMissingKinds([fruit], schemas), ...findOlder([fruit], schemas)]).toEqual(faults);
});

test.each([
  ["a field is unknown", schemaWith("taste", "smell"), "apples.fruit.test (with spec.smell): learn of it."],
  ["all fields are known", tasty, undefined],
])("kinds are newer when %s", (_, schema, expected) => {
  const requirements = [{ ...fruit, kinds: [apple] }];
  const sentence = expected && `CustomResourceDefinitions are newer than this program, ${expected}`;
  expect(findNewer(requirements, served({ Apple: schema }))).toEqual(sentence ? [sentence] : []);
});

test("fields of others' kinds that are not known are no fault", () => {
  expect(findNewer([{ kinds: [apple], remedy: "plant it" }], served({ Apple: schemaWith("a") }))).toEqual([]);
});

test("two requests for each group and version are enough when every kind is served", async () => {
  const { server, transport } = await connect(serve(["Apple", "Pear"]));
  await requireKinds(transport, [fruit], log);
  expect(server.received.map(({ path }) => path).sort()).toEqual([
    "/apis/fruit.test/v1",
    "/openapi/v3/apis/fruit.test/v1",
  ]);
});

test("a kind whose schema is left over from when it was served is missing", async () => {
  const { transport } = await connect(serve(["Apple", "Pear"], ["Apple"]));
  await expect(requireKinds(transport, [fruit], log)).rejects.toThrow("no CustomResourceDefinition pears.");
});

test("every requirement that is not met is reported", async () => {
  const { transport } = await connect(status(404, "NotFound"));
  const message =
    "The management cluster has no CustomResourceDefinition apples.fruit.test (version v1), pears.fruit.test (version v1): plant it.\nThe management cluster has no CustomResourceDefinition oaks.trees.test (version v1): sow it.";
  await expect(requireKinds(transport, [fruit, trees], log)).rejects.toThrow(message);
});

test("a definition that is served only at the second look is not missing", async () => {
  const early = serve(["Apple"]);
  const { transport } = await connect(early, early, serve(["Apple", "Pear"]));
  await expect(requireKinds(transport, [fruit], log)).resolves.toBeUndefined();
});

test("a server that does not list its kinds stops no start", async () => {
  const { transport } = await connect(status(403, "Forbidden"));
  await expect(requireKinds(transport, [fruit], log)).resolves.toBeUndefined();
});

test("fields are named through objects, lists and maps, without those that every kind has", () => {
  const leaf = { properties: { key: {} } };
  const schema = {
    properties: {
      apiVersion: {},
      kind: {},
      metadata: leaf,
      spec: { properties: { one: leaf, list: { items: leaf }, map: { additionalProperties: leaf } } },
    },
  };
  expect(listFields(schema)).toEqual([
    "spec",
    "spec.one",
    "spec.one.key",
    "spec.list",
    "spec.list[].key",
    "spec.map",
    "spec.map.*.key",
  ]);
});
