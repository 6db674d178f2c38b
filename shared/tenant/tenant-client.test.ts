import { X509Certificate } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { serviceAccountKind } from "../kube/core-kinds.ts";
import { defineTenantKind, listAllPages, tenantList } from "./tenant-client.ts";
import { createTestServers } from "./testing-server.ts";

const { authority, serve, connect, stopAll } = await createTestServers();
afterEach(stopAll);

/** Reads a page of so many empty objects; `checked` counts those that the schema has seen. */
async function readEmptyObjects(count: number) {
  let checked = 0;
  const schema = z.unknown().refine(() => ++checked < 0, "has no name");
  const page = JSON.stringify({ metadata: {}, items: Array.from({ length: count }, () => ({})) });
  const url = await serve((_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(page),
  );
  const read = connect(url, (client) => client.listPage({ kind: serviceAccountKind, schema }, ""));
  const error = await read.catch((reason: unknown) => reason);
  return { error, checked };
}

test("none of 300,000 objects on a page is looked at when 250 were asked for", async () => {
  const { error, checked } = await readEmptyObjects(300_000);
  expect(error).toMatchObject({
    reason: "InvalidResponse",
    kubeMessage: "a page has more objects than were asked for",
  });
  expect(checked).toBe(0);
});

test("a page of objects that are none ends at the first", async () => {
  const { error, checked } = await readEmptyObjects(250);
  expect(error).toMatchObject({
    reason: "InvalidResponse",
    kubeMessage: expect.stringContaining("has no name"),
  });
  expect(checked).toBe(1);
});

test("a list takes pages of any length", async () => {
  const page = { items: Array.from({ length: 300_000 }, () => ({})), next: undefined };
  const client = { listPage: async () => page as never };
  expect(await listAllPages(client, { kind: serviceAccountKind, schema: z.never() })).toHaveLength(300_000);
});

const subjects = tenantList(z.object({ name: z.string(), namespace: z.string().optional() }));

test.each<[string, unknown, unknown]>([
  ["empty", [], []],
  ["of objects, without what the schema does not have", [{ name: "a", other: 1 }], [{ name: "a" }]],
])("a list of a tenant may be %s", (_name, list, expected) => {
  expect(subjects.parse(list)).toEqual(expected);
});

test.each<[string, unknown]>([
  ["null", null],
  ["what has only a length", { length: 3 }],
  ["a list in which one is wrong", [{ name: "a" }, {}, { name: "b" }]],
])("a list of a tenant is not %s", (_name, list) => {
  expect(subjects.safeParse(list).success).toBe(false);
});

test("of a million wrong entries the first one is an issue, also in a list of lists, and no other is looked at", () => {
  let checked = 0;
  const entry = z.unknown().refine(() => ++checked < 0, "has no name");
  const entries = Array.from({ length: 1_000_000 }, () => ({}));
  for (const result of [
    tenantList(entry).safeParse(entries),
    tenantList(tenantList(entry)).safeParse([entries, entries]),
  ])
    expect(result.error?.issues.map(({ message }) => message)).toEqual(["has no name"]);
  expect(checked).toBe(2);
});

test("the certificates are those of the kubeconfig and of the server's handshake", async () => {
  const url = await serve((_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end('{"gitVersion": "v1.34.2"}'),
  );
  const { authorities, server } = await connect(url, (client) => client.readCertificates());
  const { fingerprint256 } = new X509Certificate(authority.certificate);
  const found = [...authorities, server].map((one) => one?.fingerprint256);
  expect(found).toEqual([fingerprint256, fingerprint256]);
});

const podTable = defineTenantKind(
  { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true },
  z.object({ metadata: z.object({ name: z.string() }), columns: z.object({ Node: z.string() }) }),
  { asTable: true, fieldSelector: "status.phase!=Failed" },
);

/** Lists pods from a server that sends this page. */
async function readTable(page: object) {
  const asked: unknown[] = [];
  const url = await serve((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "https://tenant");
    asked.push(request.headers.accept, searchParams.get("fieldSelector"));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page));
  });
  return { asked, page: await connect(url, (client) => client.listPage(podTable, "")) };
}

const aTable = (change: object = {}) => ({
  metadata: {},
  columnDefinitions: [{ name: "Name" }, { name: "Node", type: "string" }],
  rows: [{ cells: ["web-1", "a"], object: { metadata: { name: "web-1" }, spec: {} } }],
  ...change,
});

test("a table has of each object its metadata, and what is printed of it by the names of the columns", async () => {
  const { asked, page } = await readTable(aTable());
  expect(page.items).toEqual([{ metadata: { name: "web-1" }, columns: { Node: "a" } }]);
  expect(asked).toEqual(["application/json;as=Table;v=v1;g=meta.k8s.io", "status.phase!=Failed"]);
});

const aRow = aTable().rows[0];
const MANY_COLUMNS = ["Name", "Node", ...Array.from({ length: 63 }, (_, index) => `Other ${index}`)];

test.each<[string, object, RegExp]>([
  ["a list", { columnDefinitions: undefined }, /it has no columns/],
  ["without a column", { columnDefinitions: [{ name: "Name" }] }, /expected string, received undefined/],
  ["with 65 columns", { columnDefinitions: MANY_COLUMNS.map((name) => ({ name })) }, /it has no columns/],
  ["with columns that are none", { columnDefinitions: [null] }, /expected object, received null/],
  ["with a row that is none", { rows: [null] }, /expected object, received null/],
  ["with too few cells", { rows: [{ ...aRow, cells: ["a"] }] }, /expected string, received undefined/],
  ["with cells that are none", { rows: [{ ...aRow, cells: "ab" }] }, /cells is no list/],
  ["with rows that are none", { rows: {} }, /items is no list/],
  [
    "with more rows than were asked for",
    { rows: Array.from({ length: 251 }, () => aRow) },
    /more objects than/,
  ],
])("a table is not one %s", async (_name, change, message) => {
  await expect(readTable(aTable(change))).rejects.toMatchObject({
    reason: "InvalidResponse",
    kubeMessage: expect.stringMatching(message),
  });
});

test("a table has at most 64 columns, and as many rows as were asked for", async () => {
  const columnDefinitions = MANY_COLUMNS.slice(0, 64).map((name) => ({ name }));
  const { page } = await readTable(
    aTable({ columnDefinitions, rows: Array.from({ length: 250 }, () => aRow) }),
  );
  expect(page.items).toHaveLength(250);
});

test("pages come over one connection, the first with as many objects as its kind says, the next with as many as any", async () => {
  const limits: (string | null)[] = [];
  const connections = new Set<unknown>();
  const url = await serve((request, response) => {
    connections.add(request.socket);
    limits.push(new URL(request.url ?? "", "https://tenant").searchParams.get("limit"));
    const page = { metadata: { continue: limits.length < 2 ? "more" : "" }, items: [] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page));
  });
  const kind = { kind: serviceAccountKind, schema: z.unknown(), firstPage: 10 };
  await connect(url, (client) => listAllPages(client, kind));
  expect([limits, connections.size]).toEqual([["10", "250"], 1]);
});
