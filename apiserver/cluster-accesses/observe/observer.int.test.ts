import { and, eq, like } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { clusterAccessKind } from "../../../shared/crd/cluster-access.ts";
import { LABEL_ID, LABEL_USER_ID } from "../../../shared/crd/names.ts";
import { auditLog } from "../../audit/table.ts";
import type { ProjectedCluster } from "../../resources/project/index.ts";
import type { TestApp } from "../../testing/app.ts";
import type { Person } from "../../testing/issuer.ts";
import { makeAccessObject, startAccessService } from "../testing.ts";
import { startAccessObserver } from "./observer.ts";

let api: TestApp;
let orgId: string;
let owner: Person;
let cluster: ProjectedCluster;
let stop: AbortController | undefined;
let stopped: Promise<void> | undefined;

beforeAll(async () => {
  ({
    api,
    orgId,
    owner,
    clusters: [cluster],
  } = await startAccessService("Watched"));
});
afterEach(() => halt());
afterAll(() => api.close());

function start(): void {
  stop = new AbortController();
  ({ stopped } = startAccessObserver(api.deps, stop.signal));
}

async function halt(): Promise<void> {
  stop?.abort();
  await stopped;
}

const as = (method: string, path: string, body?: object) =>
  api.request(method, `/api/v1/organizations/${orgId}${path}`, {
    token: owner.token,
    ...(body === undefined ? {} : { body }),
  });

/** The action and the author of every audit row of an access. */
async function auditOf(id: string): Promise<string[]> {
  const rows = await api.deps.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.targetId, id), like(auditLog.action, "cluster_access.%")))
    .orderBy(auditLog.id);
  return rows.map(
    ({ action, actor }) => `${action} ${actor.kind === "kubernetes" ? actor.manager : actor.kind}`,
  );
}

/** As kubectl creates one: without a user. */
const createByHand = () => makeAccessObject(api.deps, cluster, owner, { [LABEL_USER_ID]: "by-hand" });

async function deleteByHand(id: string): Promise<void> {
  const place = { namespace: cluster.namespace, labelSelector: `${LABEL_ID}=${id}` };
  for (const { metadata } of await api.deps.kube.listAll(clusterAccessKind, place))
    await api.deps.kube.delete(clusterAccessKind, cluster.namespace, metadata.name);
}

const patience = { timeout: 200_000 };

describe("an access by kubectl", () => {
  test("is audited when it is created and when it is deleted, once each, whatever restarts", async () => {
    start();
    const id = await createByHand();
    await expect.poll(() => auditOf(id), patience).toEqual(["cluster_access.create test"]);
    await halt();
    start();
    await deleteByHand(id);
    const both = ["cluster_access.create test", "cluster_access.revoke unknown"];
    await expect.poll(() => auditOf(id), patience).toEqual(both);
    await halt();
    start();
    const later = await createByHand();
    await expect.poll(() => auditOf(later), patience).toHaveLength(1);
    expect(await auditOf(id)).toEqual(both);
    await deleteByHand(later);
  });

  test("is audited when it is deleted while nobody watches", async () => {
    start();
    const id = await createByHand();
    await expect.poll(() => auditOf(id), patience).toHaveLength(1);
    await halt();
    await deleteByHand(id);
    start();
    await expect.poll(() => auditOf(id), patience).toHaveLength(2);
  });

  test("that REST deletes is audited as the person's", async () => {
    start();
    const id = await createByHand();
    await expect.poll(() => auditOf(id), patience).toHaveLength(1);
    expect((await as("DELETE", `/clusters/${cluster.id}/accesses/${id}`)).status).toBe(204);
    const later = await createByHand();
    await expect.poll(() => auditOf(later), patience).toHaveLength(1);
    expect(await auditOf(id)).toEqual(["cluster_access.create test", "cluster_access.revoke user"]);
    await deleteByHand(later);
  });
});
