import { setTimeout as sleep } from "node:timers/promises";
import type { TransactionSql } from "postgres";
import { waitFor, waitForObjectStore } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { mintFor } from "../api-tokens/testing.ts";
import { makeAccessObject } from "../cluster-accesses/testing.ts";
import type { Sql } from "../db/client.ts";
import { countLockWaits } from "../db/testing.ts";
import { SCOPES } from "../http/authorization/permissions.ts";
import { organizationNamespace } from "../organizations/namespace.ts";
import { insertTestCredential, pushAnyImage } from "../registry/testing.ts";
import {
  findCluster,
  projectObservations,
  toProjectedCluster,
  toProjectedNodePool,
} from "../resources/project/index.ts";
import { describeFile, openDesk, testStorage } from "../tickets/attachments/testing.ts";
import { startTestApp, type TestApp, type TestResponse } from "./app.ts";
import {
  addPerson,
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
  type TestOrganization,
} from "./issuer.ts";
import type { DocumentedOperation } from "./operation-cases.ts";
import { VALID_BODIES } from "./operation-cases.ts";

const BYTES = Buffer.from("a log");

/** An owner of the organization who loses the right to a request while it is under way. */
export interface EndingCaller extends Person {
  memberId: string;
  /** An API token of the owner with every scope. */
  tokenId: string;
  tokenText: string;
}

/** An organization with a record of every kind, of which each operation has a valid request. */
export interface EndedRightsFixture {
  api: TestApp;
  organization: TestOrganization;
  addCaller(): Promise<EndingCaller>;
  /**
   * Sends a valid request as `caller` while another transaction holds the organization's row lock, runs `end` in that
   * transaction when the request waits for the lock, and commits. `before` and `after` are all that is stored.
   */
  endUnderWay(
    operation: DocumentedOperation,
    caller: EndingCaller,
    end: (sql: Sql) => Promise<unknown>,
    changes?: { credential?: string; body?: object },
  ): Promise<{ response: TestResponse; before: unknown; after: unknown }>;
  close(): Promise<void>;
}

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
  const digestRows = await prepareDigest(api.deps.sql);
  return {
    api,
    organization,
    async addCaller() {
      const person = await issuer.createPerson();
      const memberId = await addPerson(api.deps, organization.id, person, "owner");
      const token = await mintFor(api.deps, person, organization.id, { role: "owner", scopes: [...SCOPES] });
      return { ...person, memberId, tokenId: token.id, tokenText: token.text };
    },
    async endUnderWay(operation, caller, end, { credential = caller.token, body: otherBody } = {}) {
      const prepared = { api, issuer, organization, records };
      const { path, ...valid } = await prepareRequest(prepared, operation, caller, credential);
      const body = otherBody ?? valid.body;
      const objects = await readObjects(api, organization.id);
      const { sent, rows } = await api.deps.sql.begin(async (tx) => {
        await tx`select from organizations where id = ${organization.id} for no key update`;
        const { sent } = await sendUntilLocked(api, () =>
          api.request(operation.method, path, {
            token: credential,
            ...(body === undefined ? {} : { body }),
          }),
        );
        await end(tx as unknown as Sql);
        // In an object: a promise that is returned would be awaited before the commit.
        return { sent, rows: await digestRows(tx) };
      });
      const response = await sent;
      const after = {
        rows: await api.deps.sql.begin(digestRows),
        objects: await readObjects(api, organization.id),
      };
      return { response, before: { rows, objects }, after };
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

/** One record of every kind, by the name of its path parameter. */
async function createRecords(
  api: TestApp,
  { id: orgId, path, owner: { token, userId } }: TestOrganization,
): Promise<Record<string, string>> {
  const send = async (method: string, place: string, body?: object) => {
    const response = await api.request(method, `${path}${place}`, { token, ...(body && { body }) });
    if (response.status >= 300) throw new Error(`${method} ${place}: ${JSON.stringify(response.body)}`);
    return response.body;
  };
  const pool = { name: "web", vcpus: 1, memory_gb: 2, disk_gb: 10, desired_nodes: 1 };
  const cluster = await send("POST", "/clusters", { name: "Ended", k8s_version: "1.34", node_pools: [pool] });
  const clusterPath = `/clusters/${cluster.id}`;
  const { items } = await send("GET", `${clusterPath}/nodepools`);
  const webhook = await send("POST", "/webhooks", { url: "https://hooks.example.com", events: ["*"] });
  const delivery = await send("POST", `/webhooks/${webhook.id}/test`);
  const ticket = await send("POST", "/tickets", VALID_BODIES.createTicket);
  await send("PUT", "/billing/budget", VALID_BODIES.setBudget);
  const projected = await findCluster(api.deps.db, orgId, cluster.id);
  if (projected === undefined) throw new Error("no cluster");
  return {
    clusterID: cluster.id,
    poolID: items[0].id,
    name: await waitForNode(api, orgId, cluster.id),
    accessID: await makeAccessObject(api.deps, projected, { userId }),
    webhookID: webhook.id,
    deliveryID: delivery.id,
    ticketID: ticket.id,
    credentialID: await insertTestCredential(api.deps, orgId, cluster.id),
    ...(await pushAnyImage(api, orgId)),
  };
}

/**
 * Until the cluster runs, which an upgrade and a kubeconfig need, and REST serves it so. Returns the name of its node.
 */
function waitForNode({ deps: { kube, db } }: TestApp, orgId: string, clusterId: string): Promise<string> {
  const namespace = organizationNamespace(orgId);
  const findNode = async () => {
    const [cluster] = await kube.listAll(clusterKind, { namespace });
    const [pool] = await kube.listAll(nodePoolKind, { namespace });
    const node = pool?.status?.machines?.find((machine) => machine.node !== undefined)?.node;
    if (cluster?.status?.phase !== "Ready" || cluster.status.version === undefined || pool === undefined)
      return undefined;
    const objects = [toProjectedCluster(cluster, orgId), toProjectedNodePool(pool, orgId, clusterId)];
    await db.transaction((tx) =>
      projectObservations(
        tx,
        objects.flatMap((object) => (object === undefined ? [] : { object })),
      ),
    );
    return node;
  };
  return waitFor("the cluster to run with its node", findNode);
}

interface Prepared {
  api: TestApp;
  issuer: TestIssuer;
  organization: TestOrganization;
  records: Record<string, string>;
}

/** A request that would have an effect, with the records that it alone can use. */
async function prepareRequest(
  { api, issuer, organization, records }: Prepared,
  { path, operationId, body }: DocumentedOperation,
  caller: EndingCaller,
  credential: string,
): Promise<{ path: string; body: object | undefined }> {
  const ids: Record<string, string> = { ...records, orgID: organization.id, tokenID: caller.tokenId };
  if (path.includes("{memberID}")) {
    ids.memberID = await addPerson(api.deps, organization.id, await issuer.createPerson(), "viewer");
    if (operationId === "resendInvitation")
      await api.deps.sql`update members
        set user_id = null, accepted_at = null, expires_at = now() + interval '1 day' where id = ${ids.memberID}`;
  }
  if (operationId === "completeTicketAttachment") {
    const desk = openDesk(api, records.ticketID ?? "", { ...caller, token: credential }, organization);
    ids.attachmentID = await desk.upload(BYTES);
  }
  const bodies: Record<string, object> = {
    ...VALID_BODIES,
    createRegistryCredential: { cluster_id: records.clusterID },
    createTicketMessage: { body: "Example" },
    createTicketAttachment: describeFile(BYTES),
    createWebhook: { url: "https://hooks.example.com", events: ["*"] },
    updateWebhook: { events: ["cluster.ready"] },
    setBillingProfile: { city: "Berlin" },
    updateMember: { role: "admin" },
    updateTicket: { status: "closed" },
  };
  return {
    path: path.replaceAll(/\{(.+?)\}/g, (_match, name: string) => ids[name] ?? ""),
    body: body === undefined ? undefined : (bodies[operationId] ?? body.example),
  };
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

/** Makes one statement that digests each table, without the times at which tokens were last used; by table. */
async function prepareDigest(sql: Sql): Promise<(tx: TransactionSql) => Promise<unknown>> {
  const tables = await sql`select c.oid::regclass::text as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`;
  const digests = tables.map(
    ({ name }) => `select '${name}' as name, count(*)::int, md5(string_agg(text, ' ' order by text)) as digest
      from (select (to_jsonb(t) - 'last_used_at')::text as text from ${name} t) all_rows`,
  );
  const statement = digests.join(" union all ");
  return async (tx) => {
    // Otherwise Postgres starts processes for each.
    await tx`set local max_parallel_workers_per_gather = 0`;
    const rows = await tx.unsafe(statement, [], { prepare: true });
    return Object.fromEntries(rows.map(({ name, ...digest }) => [name, digest]));
  };
}

/** The settings of the organization's custom resources. */
async function readObjects({ deps: { kube } }: TestApp, orgId: string): Promise<unknown> {
  const namespace = organizationNamespace(orgId);
  const settings = [
    ...(await kube.listAll(clusterKind, { namespace })),
    ...(await kube.listAll(nodePoolKind, { namespace })),
  ].map(({ metadata, spec }) => [metadata.name, metadata.generation, spec]);
  const accesses = await kube.listAll(clusterAccessKind, { namespace });
  const kept = accesses.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return { settings, accesses: kept.map(({ metadata }) => metadata.name) };
}
