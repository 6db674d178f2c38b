import { setTimeout as sleep } from "node:timers/promises";
import { waitForObjectStore } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { mintFor } from "../api-tokens/testing.ts";
import type { Sql } from "../db/client.ts";
import { countLockWaits, prepareDigest, type TableDigests } from "../db/testing.ts";
import { SCOPES } from "../http/authorization/permissions.ts";
import { hashBody } from "../http/idempotency/run-once.ts";
import { organizationNamespace } from "../organizations/namespace.ts";
import { createObjectStore } from "../tickets/attachments/objects/object-store.ts";
import { testStorage } from "../tickets/attachments/testing.ts";
import { startTestApp, type TestApp, type TestResponse } from "./app.ts";
import { createRecords, type EndingRequest, prepareRequest } from "./ended-rights-requests.ts";
import {
  addPerson,
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
  type TestOrganization,
} from "./issuer.ts";

/** An owner of the organization who loses the right to a request while it is under way. */
export interface EndingCaller extends Person {
  memberId: string;
  /** An API token of the owner with every scope. */
  tokenId: string;
  tokenText: string;
}

/** All that is stored, but Idempotency-Keys. */
interface Stored {
  rows: TableDigests;
  objects: unknown;
}

/** The response to a request under way when a right ended, and what was stored at that end and after the response. */
interface EndedRequest {
  response: TestResponse;
  /** The tables that the request wrote before it waited for the confirmation of its right. */
  early?: string[];
  before: Stored;
  after: Stored;
}

/** An organization with a record of every kind, of which each operation has a valid request. */
export interface EndedRightsFixture {
  api: TestApp;
  issuer: TestIssuer;
  organization: TestOrganization;
  addCaller(): Promise<EndingCaller>;
  /** A new person of the platform's staff. */
  addStaff(): Promise<Person>;
  /**
   * Sends a request while another transaction holds the organization's row lock, runs `end` in that transaction when the
   * request waits for the lock, and commits.
   */
  endUnderWay(request: EndingRequest, end: (sql: Sql) => Promise<unknown>): Promise<EndedRequest>;
  /** Sends a request, runs `end` when its body is read, and sends the body then. */
  endBeforeBody(request: EndingRequest, end: (sql: Sql) => Promise<unknown>): Promise<EndedRequest>;
  /** Sends a POST with a key that another transaction holds, runs `end` when the request waits for it, and gives it back, or keeps it as answered. */
  endBeforeKey(
    request: EndingRequest & { key: string; kept?: number },
    end: (sql: Sql) => Promise<unknown>,
  ): Promise<EndedRequest>;
  close(): Promise<void>;
}

/** Gives the id of a person to another issuer. */
export const giveToOtherIssuer = (sql: Sql, { userId }: { userId: string }): Promise<unknown> =>
  sql`update users set issuer = 'https://other.example' where id = ${userId}`;

export async function startEndedRightsFixture(): Promise<EndedRightsFixture> {
  await waitForObjectStore();
  const issuer = await startTestIssuer();
  const api = await startTestApp({
    issuers: [issuer.config],
    registry: {},
    attachmentStorage: testStorage(),
  });
  const organization = await makeOrganization(api, issuer);
  const records = await createRecords(api, organization);
  const { sql } = api.deps;
  // A request that makes sure of the Namespace would write the name into it.
  await sql`update organizations set name = 'Renamed' where id = ${organization.id}`;
  const digestRows = await prepareDigest(sql, ["idempotency_keys"]);
  const readStored = async (): Promise<Stored> => ({
    rows: await sql.begin(digestRows),
    objects: await readObjects(api, organization.id),
  });
  const prepared = { api, issuer, organization, records };
  return {
    api,
    issuer,
    organization,
    async addCaller() {
      const person = await issuer.createPerson();
      const memberId = await addPerson(api.deps, organization.id, person, "owner");
      const token = await mintFor(api.deps, person, organization.id, { role: "owner", scopes: [...SCOPES] });
      return { ...person, memberId, tokenId: token.id, tokenText: token.text };
    },
    addStaff: () => issuer.createStaff(),
    async endUnderWay(request, end) {
      const { method, path, token, body, headers } = await prepareRequest(prepared, request);
      const objects = await readObjects(api, organization.id);
      const { sent, rows, early } = await sql.begin(async (tx) => {
        const unsent = await digestRows(tx);
        await tx`select from organizations where id = ${organization.id} for no key update`;
        const { sent } = await sendUntilLocked(api, () =>
          api.request(method, path, { token, headers, ...(body === undefined ? {} : { body }) }),
        );
        const waiting = await digestRows(tx);
        const early = Object.keys(waiting).filter((name) => waiting[name]?.digest !== unsent[name]?.digest);
        await end(tx as unknown as Sql);
        // In an object: a promise that is returned would be awaited before the commit.
        return { sent, rows: await digestRows(tx), early };
      });
      return { response: await sent, before: { rows, objects }, after: await readStored(), early };
    },
    async endBeforeBody(request, end) {
      const { method, path, token, body, headers } = await prepareRequest(prepared, request);
      const { stream, asked, arrive } = createSlowBody(JSON.stringify(body));
      const sent = api.app.request(path, {
        method,
        headers: {
          ...headers,
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "transfer-encoding": "chunked",
        },
        body: stream,
        duplex: "half",
      });
      const early = await Promise.race([asked, sent]);
      if (early !== undefined)
        throw new Error(`answered without its body: ${early.status} ${await early.text()}`);
      await end(sql);
      const before = await readStored();
      arrive();
      const received = await sent;
      const { status, headers: receivedHeaders } = received;
      const response = { status, headers: receivedHeaders, body: await received.json() };
      return { response, before, after: await readStored() };
    },
    async endBeforeKey(request, end) {
      const { method, path, token, body, headers } = await prepareRequest(prepared, request);
      const scope = `user:${request.caller.userId} ${method} ${path}`;
      const held = await sql.reserve();
      await held`begin`;
      const { key, kept = null } = request;
      await held`insert into idempotency_keys (scope, key, body_hash, id, lease_expires_at, status, headers, body)
        values (${scope}, ${key}, ${hashBody(body)}, gen_random_uuid(), now(), ${kept}, '{}', '{}')`;
      const { sent } = await sendUntilLocked(api, () =>
        api.request(method, path, { token, headers, ...(body === undefined ? {} : { body }) }),
      );
      await end(sql);
      const before = await readStored();
      await (kept === null ? held`rollback` : held`commit`);
      held.release();
      return { response: await sent, before, after: await readStored() };
    },
    async close() {
      await api.request("DELETE", `${organization.path}/clusters/${records.clusterID}`, {
        token: organization.owner.token,
      });
      await api.close();
      issuer.close();
    },
  };
}

/** A body that arrives when `arrive` is called; `asked` resolves when it is read. */
function createSlowBody(text: string) {
  const asked = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        asked.resolve();
        await arrived.promise;
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    },
    // Otherwise it is asked for before it is read.
    { highWaterMark: 0 },
  );
  return { stream, asked: asked.promise, arrive: () => arrived.resolve() };
}

/**
 * Sends a request until one waits for the row that another transaction has locked. One whose certificate is not signed
 * in time is 503 before that, and sent again; any other response came without the lock.
 */
async function sendUntilLocked(
  api: TestApp,
  send: () => Promise<TestResponse>,
): Promise<{ sent: Promise<TestResponse> }> {
  for (;;) {
    const sent = send();
    const response = await waitForLock(api, sent);
    if (response === undefined) return { sent };
    if (response.status !== 503)
      throw new Error(`answered without the lock: ${response.status} ${JSON.stringify(response.body)}`);
  }
}

/** Until the request waits for a lock; its response when it has one first. */
async function waitForLock(api: TestApp, sent: Promise<TestResponse>): Promise<TestResponse | undefined> {
  let response: TestResponse | undefined;
  void sent.then((one) => {
    response = one;
  });
  while ((await countLockWaits(api.deps.sql)) === 0) {
    if (response !== undefined) return response;
    await sleep(10);
  }
  return undefined;
}

/** The settings of the organization's Namespace and custom resources, and the object of its last attachment, once that is moved. */
async function readObjects({ deps: { kube, sql } }: TestApp, orgId: string): Promise<unknown> {
  const namespace = organizationNamespace(orgId);
  const { metadata: shown } = (await kube.get(namespaceKind, undefined, namespace)) ?? {};
  const settings = [
    ...(await kube.listAll(clusterKind, { namespace })),
    ...(await kube.listAll(nodePoolKind, { namespace })),
  ].map(({ metadata, spec }) => [metadata.name, metadata.generation, spec]);
  const accesses = await kube.listAll(clusterAccessKind, { namespace });
  const kept = accesses.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const [last] = await sql`
    select ticket_id || '/' || id as path from ticket_attachments where org_id = ${orgId} order by id desc limit 1`;
  const store = createObjectStore(testStorage(), () => new Date());
  const moved = last && (await store.head(`attachments/${orgId}/${last.path}`));
  return {
    shown: [shown?.labels, shown?.annotations],
    settings,
    accesses: kept.map(({ metadata }) => metadata.name),
    moved,
  };
}
