import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createId } from "../../shared/program/id.ts";
import { insertDeletionRequests } from "../audit/deleters/store.ts";
import { startAccessObserver } from "../cluster-accesses/index.ts";
import { makeAccessObject } from "../cluster-accesses/testing.ts";
import { PRIORITIES, requestScan } from "../registry/scans/store.ts";
import { registryScans } from "../registry/scans/table.ts";
import { findCluster } from "../resources/project/index.ts";
import { startTestApp } from "../testing/app.ts";
import { RECORD_BOUNDS, ROUTE_BOUNDS } from "../testing/request-bounds.ts";
import { insertTestAttachment } from "../tickets/attachments/testing.ts";
import { TICKET } from "../tickets/testing.ts";
import { WEBHOOK } from "../webhooks/testing.ts";
import { STORE_NAMES, type StoreName } from "./schema.ts";
import { BODY } from "./testing.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

const api = setUp(() => startTestApp({ registry: {} }));
let other: string;
const observing = new AbortController();
let observer: ReturnType<typeof startAccessObserver>;

beforeAll(async () => {
  other = await api.createOrganization();
  observer = startAccessObserver(api.deps, observing.signal);
});
afterAll(async () => {
  observing.abort();
  await observer.stopped;
});

/** Returns the id of what is created. */
async function post(orgId: string, path: string, body: object): Promise<string> {
  const created = await api.request("POST", `/api/v1/organizations/${orgId}/${path}`, { body });
  expect([created.status, created.body.error]).toEqual([expect.toBeOneOf([201, 202]), undefined]);
  return created.body.id;
}

async function createCluster(orgId: string) {
  const cluster = await findCluster(api.deps.db, orgId, await post(orgId, "clusters", BODY));
  if (cluster === undefined) throw new Error("no cluster");
  return cluster;
}

const openTicket = (orgId: string) => post(orgId, "tickets", TICKET);
const attach = async (orgId: string) =>
  insertTestAttachment(api.deps, orgId, await openTicket(orgId), { authorType: "tenant", sizeBytes: 1 });

/** Adds one to each store. */
const ADDITIONS: Record<StoreName, (orgId: string) => Promise<unknown>> = {
  open_tickets: openTicket,
  tickets_per_day: openTicket,
  ticket_messages_per_day: openTicket,
  attachments_per_day: attach,
  attachment_bytes: attach,
  api_tokens: (orgId) =>
    post(orgId, "api-tokens", { name: "reader", role: "viewer", scopes: ["clusters:read"] }),
  webhooks: (orgId) => post(orgId, "webhooks", WEBHOOK),
  accesses: async (orgId) =>
    makeAccessObject(api.deps, await createCluster(orgId), { userId: createId(), subject: "by-hand" }),
  registry_credentials: async (orgId) =>
    post(orgId, "registry/credentials", { cluster_id: (await createCluster(orgId)).id }),
  pending_image_scans: (orgId) => {
    const request = { orgId, digest: DIGEST, repository: "web", priority: PRIORITIES.requested };
    return requestScan(api.deps.db, { ...request, at: api.deps.now() });
  },
  image_scan_report_bytes: (orgId) =>
    api.deps.db.insert(registryScans).values({
      orgId,
      digest: DIGEST,
      repository: "web",
      state: "success",
      priority: PRIORITIES.pushed,
      usedAt: api.deps.now(),
      vulnerabilities: [],
    }),
  kubernetes_deletions_per_day: (orgId) => {
    const at = { receivedAt: api.deps.now(), completedAt: api.deps.now() };
    const request = { orgId, resource: "clusters" as const, name: "web", username: "erin", impersonator: "" };
    return insertDeletionRequests(api.deps.db, [{ ...request, ...at }]);
  },
};

async function readFigures(figure: "limit" | "used", orgId: string): Promise<Record<string, number>> {
  const { body } = await api.request("GET", `/api/v1/organizations/${orgId}/quotas`);
  return Object.fromEntries(
    body.stores.map((store: { name: string; limit: number; used: number }) => [store.name, store[figure]]),
  );
}

test("the stores have every bound of an organization in request-bounds.md, with its default", async () => {
  const bounds = Object.values({ ...RECORD_BOUNDS, ...ROUTE_BOUNDS }).map((row) => row.ofOrganization);
  const { clusters, node_pools, ...limits } = Object.assign({}, ...bounds);
  expect(await readFigures("limit", other)).toEqual(limits);
  const { body } = await api.request("GET", `/api/v1/organizations/${other}/quotas`);
  expect(body.effective).toMatchObject({ clusters, node_pools });
});

/** Bytes are those that Postgres stores; all else is counted. */
const isOneMore = (name: StoreName, used = 0) => (name === "image_scan_report_bytes" ? used > 0 : used === 1);

test.each(STORE_NAMES)("what is used of %s is none at first, and one after one was added", async (name) => {
  const orgId = await api.createOrganization();
  const none = Object.fromEntries(STORE_NAMES.map((store) => [store, 0]));
  expect(await readFigures("used", orgId)).toEqual(none);
  await ADDITIONS[name](orgId);
  await waitFor("the addition to show", async () =>
    isOneMore(name, (await readFigures("used", orgId))[name]),
  );
  expect(await readFigures("used", other)).toEqual(none);
});
