import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../e2e/platform/stack/testing.ts";
import { type ExecutedCode, recordExecutedCode } from "../e2e/testing/executed-code.ts";
import { clusterKind } from "../shared/crd/cluster.ts";
import { LABEL_ID } from "../shared/crd/names.ts";
import { nodePoolKind } from "../shared/crd/node-pool.ts";
import { createId } from "../shared/program/id.ts";
import { closeMonth } from "./billing/invoices/close.ts";
import { type Month, parseMonth } from "./billing/month.ts";
import { insertUsage, startInvoicingApp } from "./billing/testing.ts";
import { emitWebhookEvents } from "./events/emit.ts";
import { organizationNamespace } from "./organizations/namespace.ts";
import type { TestApp, TestRequest, TestResponse } from "./testing/app.ts";
import { recordStatements, type SentStatement } from "./testing/statements.ts";
import {
  createTestSender,
  startTestDeliverer,
  startTestDeliveries,
  type TestDeliveries,
} from "./webhooks/deliverer/testing.ts";
import { type Receiver, startReceiver } from "./webhooks/deliverer/testing-receiver.ts";
import { aReplacement } from "./webhooks/testing.ts";

let api: TestApp;
let deliveries: TestDeliveries;
let receiver: Receiver;
let organization: string;
let clusters: string;
let pools: string;
let pool: string;
let apiToken: string;

const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, max_nodes: 9 };

beforeAll(async () => {
  [api, deliveries, receiver] = await Promise.all([
    // As many connections as in an installation, where what goes out together waits for no other.
    startInvoicingApp({ poolSize: 16 }),
    startTestDeliveries(),
    startReceiver(),
  ]);
  organization = `/api/v1/organizations/${await api.createOrganization()}`;
  clusters = `${organization}/clusters`;
  // The stack refuses the clusters of this plan: it is never made, and its pools rest soon after each change.
  const cluster = await send("POST", clusters, { name: "shop", k8s_version: "1.34", plan: "scale" });
  pools = `${clusters}/${cluster.body.id}/nodepools`;
  const token = { name: "reader", role: "viewer", scopes: ["organization:read"] };
  apiToken = (await send("POST", `${organization}/api-tokens`, token)).body.token;
  pool = `${pools}/${(await send("POST", pools, POOL)).body.id}`;
});
afterAll(async () => {
  const { kube } = api.deps;
  // They would run as long as the stack does.
  for (const { metadata } of await kube.listAll(clusterKind, { namespace: namespaceOfTest() }))
    await kube.delete(clusterKind, metadata.namespace, metadata.name);
  await Promise.all([api.close(), deliveries.end(), receiver.close()]);
});

async function send(
  method: string,
  path: string,
  body?: TestRequest["body"],
  token?: string,
): Promise<TestResponse> {
  const sent = { ...(body === undefined ? {} : { body }), ...(token === undefined ? {} : { token }) };
  const response = await api.request(method, path, sent);
  if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response.body)}`);
  return response;
}

const namespaceOfTest = () => organizationNamespace(organization.split("/").at(-1) ?? "");

let nodes = 1;
const addNode = () => send("PUT", pool, { desired_nodes: ++nodes });

/** Returns the work once the operator has observed the current pool. */
async function whenSettled(work: () => Promise<unknown>): Promise<() => Promise<unknown>> {
  const { kube } = api.deps;
  const namespace = namespaceOfTest();
  await waitFor("the pool to be observed", async () => {
    const objects = await kube.listAll(nodePoolKind, { namespace });
    const object = objects.find(({ metadata }) => metadata.labels?.[LABEL_ID] === pool.split("/").at(-1));
    return object !== undefined && object.status?.observedGeneration === object.metadata.generation;
  });
  return work;
}

async function prepareWebhook() {
  const { db, sql } = deliveries;
  const orgId = await deliveries.addOrganization();
  const webhookId = await deliveries.addWebhook(orgId, `${receiver.url}/hook`);
  const deliverer = startTestDeliverer(deliveries, createTestSender(receiver.ca));
  const event = aReplacement({ id: orgId });
  return async () => {
    await db.transaction((tx) => emitWebhookEvents(tx, [event]));
    // Not through the counted client.
    const readAttempts = () =>
      sql`select 1 from webhook_deliveries where webhook_id = ${webhookId} and status = 'delivered'`;
    // Often: until it is stopped, the deliverer asks again and again, which counts.
    await waitFor("the attempt", async () => (await readAttempts()).length > 0, { intervalMs: 10 });
    await deliverer.stop();
  };
}

async function prepareUsage() {
  const orgId = await api.createOrganization();
  const profile = { name: "Example Ltd", country: "DE", city: "Berlin" };
  await send("PUT", `/api/v1/organizations/${orgId}/billing/profile`, profile);
  const [startedAt, endedAt] = [new Date("2026-01-10T00:00:00Z"), new Date("2026-01-10T01:00:00Z")];
  await insertUsage(api.deps.db, { organizationId: orgId, startedAt, endedAt });
  return () => closeMonth(api.deps, parseMonth("2026-01") as Month);
}

// What one piece of work executes, so that it is seen when it grows, with a few functions for a path that time decides.
// A number that falls is lowered here.
test.each<{
  journey: string;
  prepare: () => Promise<() => Promise<unknown>>;
  limits: { files: number; namedFunctions: number; statements: number; roundTrips?: number };
}>([
  {
    journey: "GET of an organization",
    prepare: async () => () => send("GET", organization),
    limits: { files: 22, namedFunctions: 61, statements: 1, roundTrips: 1 },
  },
  {
    journey: "GET of an organization with an API token",
    prepare: async () => () => send("GET", organization, undefined, apiToken),
    limits: { files: 24, namedFunctions: 78, statements: 1, roundTrips: 1 },
  },
  {
    journey: "PUT of an organization",
    prepare: async () => () => send("PUT", organization, { name: createId() }),
    limits: { files: 31, namedFunctions: 135, statements: 5, roundTrips: 3 },
  },
  {
    journey: "GET of the quotas",
    prepare: async () => () => send("GET", `${organization}/quotas`),
    limits: { files: 36, namedFunctions: 99, statements: 13, roundTrips: 2 },
  },
  {
    journey: "GET of a node pool",
    prepare: () => whenSettled(() => send("GET", pool)),
    limits: { files: 28, namedFunctions: 87, statements: 3, roundTrips: 2 },
  },
  {
    journey: "PUT of a node pool, one node more,",
    prepare: () => whenSettled(addNode),
    limits: { files: 62, namedFunctions: 295, statements: 14, roundTrips: 12 },
  },
  {
    journey: "PUT of a node pool that changes nothing",
    prepare: () => whenSettled(() => send("PUT", pool, { desired_nodes: nodes })),
    limits: { files: 47, namedFunctions: 221, statements: 6, roundTrips: 4 },
  },
  {
    journey: "POST of a cluster with a node pool",
    prepare: async () => () =>
      send("POST", clusters, {
        name: `cluster-${createId().slice(-12)}`,
        k8s_version: "1.34",
        node_pools: [POOL],
      }),
    limits: { files: 69, namedFunctions: 333, statements: 28, roundTrips: 27 },
  },
  {
    journey: "PUT of a budget",
    prepare: async () => () =>
      send("PUT", `${organization}/billing/budget`, { monthly_limit_eur: 10, thresholds_pct: [50] }),
    limits: { files: 32, namedFunctions: 137, statements: 6, roundTrips: 4 },
  },
  {
    journey: "a webhook from its cause to the stored attempt",
    prepare: prepareWebhook,
    limits: { files: 17, namedFunctions: 95, statements: 45 },
  },
  {
    journey: "an hour of usage to a line of an invoice",
    prepare: prepareUsage,
    limits: { files: 33, namedFunctions: 139, statements: 19 },
  },
])("$journey executes no more than it did", async ({ prepare, limits }) => {
  const databases = [api.deps.db, api.deps.rightsDb, deliveries.db];
  const runs: (ExecutedCode & { roundTrips: SentStatement[][] })[] = [];
  // The first run fills what is read once a process; of the others the least figures count, for a retry is no growth.
  for (let run = 0; run < 4; run += 1) {
    const work = await prepare();
    const { roundTrips, result } = await recordStatements(databases, () => recordExecutedCode(work));
    runs.push({ ...result, roundTrips });
  }
  const least = (figureOf: (run: (typeof runs)[number]) => number) =>
    Math.min(...runs.slice(1).map(figureOf));
  const [fewest] = runs.slice(1).toSorted((left, right) => left.files.length - right.files.length);
  const statements = least((run) => run.roundTrips.flat().length);
  // Shows the files when there are more.
  const files = fewest?.files ?? [];
  expect(files.length > limits.files ? files : []).toEqual([]);
  expect(least((run) => run.namedFunctions)).toBeLessThanOrEqual(limits.namedFunctions);
  expect(statements).toBeLessThanOrEqual(limits.statements);
  expect(least((run) => run.roundTrips.length)).toBeLessThanOrEqual(limits.roundTrips ?? statements);
  expect(statements).toBeGreaterThan(0);
});
