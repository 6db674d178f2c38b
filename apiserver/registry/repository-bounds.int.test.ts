import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { PATIENT } from "../../shared/program/testing-deadlines.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { type Listening, listen } from "../webhooks/sending/testing-receiver.ts";
import { MAX_TAGS } from "./names.ts";

const DIGEST = `sha256:${"1".repeat(64)}`;
const TAGS = Array.from({ length: MAX_TAGS + 500 }, (_, n) => String(n).padStart(6, "0"));

let registry: Listening;
let api: TestApp;
/** What the registry is asked, and what each list of tags waits for. */
let asked: { lists: string[]; lookups: number; deletions: number };
let beforeList: Promise<void>;

/** A registry in whose every repository 10,500 tags name one image. */
async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://registry");
  if (pathname.endsWith("/tags/list")) {
    asked.lists.push(pathname);
    await beforeList;
    const start = TAGS.indexOf(searchParams.get("last") ?? "") + 1;
    const tags = TAGS.slice(start, start + Number(searchParams.get("n")));
    response.end(JSON.stringify({ tags }));
    return;
  }
  if (request.method === "HEAD") asked.lookups += 1;
  if (request.method === "DELETE") asked.deletions += 1;
  response.writeHead(request.method === "DELETE" ? 202 : 200, { "docker-content-digest": DIGEST }).end();
}

beforeAll(async () => {
  registry = await listen(createServer((request, response) => void respond(request, response)));
  api = await startTestApp({ registry: { url: `http://127.0.0.1:${registry.port}` } });
});
beforeEach(() => {
  asked = { lists: [], lookups: 0, deletions: 0 };
  beforeList = Promise.resolve();
});
afterAll(async () => {
  await api.close();
  registry.close();
});

const pathOf = (orgId: string) => `/api/v1/organizations/${orgId}/registry/repositories/web`;

test("of a repository with more than 10,000 tags that many are counted, and it is not deleted, nor a part of it", async () => {
  const orgId = await api.createOrganization();
  expect((await api.request("GET", pathOf(orgId))).body).toMatchObject({ tag_count: MAX_TAGS });
  expect(asked.lists).toHaveLength(MAX_TAGS / 500 + 1);
  const { status, body } = await api.request("DELETE", pathOf(orgId));
  expect([status, body.error?.code]).toEqual([409, "conflict"]);
  expect([asked.lookups, asked.deletions]).toEqual([0, 0]);
  const log = `/api/v1/organizations/${orgId}/audit-log?action=repository.delete`;
  expect((await api.request("GET", log)).body.items).toEqual([]);
});

test("an organization has two requests to the registry at once, no other one waits for them, and none whose client has disconnected", async () => {
  const [busy, other] = [await api.createOrganization(), await api.createOrganization()];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  beforeList = released;
  const waiting = Array.from({ length: 4 }, () => api.request("GET", pathOf(busy)));
  const listsOf = (orgId: string) => asked.lists.filter((path) => path.includes(orgId)).length;
  await vi.waitFor(() => expect(listsOf(busy)).toBe(2), PATIENT);
  const client = new AbortController();
  const deletion = api.request("DELETE", pathOf(busy), { signal: client.signal });
  const response = api.request("GET", pathOf(other));
  await vi.waitFor(() => expect(listsOf(other)).toBe(1), PATIENT);
  expect(listsOf(busy)).toBe(2);
  client.abort();
  expect((await deletion).status).toBe(400);
  release();
  const responses = await Promise.all([...waiting, response]);
  expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(200));
});

test("the tags of a repository are read no further when the client has disconnected", async () => {
  const orgId = await api.createOrganization();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  beforeList = released;
  const client = new AbortController();
  const response = api.request("GET", pathOf(orgId), { signal: client.signal });
  await vi.waitFor(() => expect(asked.lists).toHaveLength(1), PATIENT);
  client.abort();
  expect((await response).status).toBe(400);
  release();
  expect((await api.request("GET", pathOf(orgId))).status).toBe(200);
  expect(asked.lists).toHaveLength(1 + MAX_TAGS / 500 + 1);
});
