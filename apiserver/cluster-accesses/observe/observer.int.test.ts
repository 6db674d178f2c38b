import { and, eq, like } from "drizzle-orm";
import { afterEach, describe, expect, test } from "vitest";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind, findExpiry } from "../../../shared/crd/cluster-access.ts";
import { ANNOTATION_IDENTITY, LABEL_ID, LABEL_ORG_ID, LABEL_USER_ID } from "../../../shared/crd/names.ts";
import { createId } from "../../../shared/program/id.ts";
import { auditLog, awaitedDeletions } from "../../audit/table.ts";
import type { ProjectedCluster } from "../../resources/project/index.ts";
import type { TestApp } from "../../testing/app.ts";
import { makeOrganization, type Person } from "../../testing/issuer.ts";
import { createClientKey } from "../issue.ts";
import { createAccessObject, issueSigned, makeAccessObject, setUpAccessService } from "../testing.ts";
import { startAccessObserver } from "./observer.ts";
import { findRecorded } from "./store.ts";

let stop: AbortController | undefined;
let stopped: Promise<void> | undefined;
const {
  api,
  issuer,
  org,
  owner,
  clusters: [cluster, lostCluster],
} = setUpAccessService("Watched", "Lost");
afterEach(() => halt());

/** An access that goes before its cluster is at most `lostWithinMs` ahead: one that goes alone is audited after that. */
function start(changes: Partial<TestApp["deps"]["config"]> = {}, lostWithinMs = 100): void {
  stop = new AbortController();
  const deps = { ...api.deps, config: { ...api.deps.config, ...changes } };
  ({ stopped } = startAccessObserver(deps, stop.signal, lostWithinMs));
}

async function halt(): Promise<void> {
  stop?.abort();
  await stopped;
}

const as = (method: string, path: string, body?: object) =>
  api.request(method, `/api/v1/organizations/${org.id}${path}`, {
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

const BY_HAND = { fieldManager: "test" };

describe("an access by kubectl", () => {
  test("is audited when it is created and when it is deleted, once each, whatever restarts", async () => {
    start();
    const id = await createByHand();
    await expect.poll(() => auditOf(id)).toEqual(["cluster_access.create test"]);
    await halt();
    start();
    await deleteByHand(id);
    const both = ["cluster_access.create test", "cluster_access.revoke unknown"];
    await expect.poll(() => auditOf(id)).toEqual(both);
    await halt();
    start();
    const later = await createByHand();
    await expect.poll(() => auditOf(later)).toHaveLength(1);
    expect(await auditOf(id)).toEqual(both);
    await deleteByHand(later);
  });

  test("is audited when it is deleted while no process watches", async () => {
    start();
    const id = await createByHand();
    await expect.poll(() => auditOf(id)).toHaveLength(1);
    await halt();
    await deleteByHand(id);
    start();
    await expect.poll(() => auditOf(id)).toHaveLength(2);
  });

  const AWAITED = { auditWebhookToken: "of-the-audit-events" };
  test.each([
    ["while it is watched", (id: string) => deleteByHand(id)],
    [
      "while no process watches",
      async (id: string) => {
        await halt();
        await deleteByHand(id);
        start(AWAITED);
      },
    ],
  ])("that is deleted %s has its deleter among those since its own creation", async (_when, end) => {
    start(AWAITED);
    const id = await createByHand();
    await expect.poll(() => auditOf(id)).toHaveLength(1);
    const place = { namespace: cluster.namespace, labelSelector: `${LABEL_ID}=${id}` };
    const [access] = await api.deps.kube.listAll(clusterAccessKind, place);
    await end(id);
    const { createdAt, requestedAt } = awaitedDeletions;
    const ofAccess = and(eq(awaitedDeletions.orgId, org.id), eq(awaitedDeletions.targetId, id));
    const read = () => api.deps.db.select({ createdAt, requestedAt }).from(awaitedDeletions).where(ofAccess);
    const created = new Date(access?.metadata.creationTimestamp ?? "");
    await expect.poll(read).toEqual([{ createdAt: created, requestedAt: null }]);
  });

  test("of an earlier version, whose creation is not recorded, has an unknown deleter", async () => {
    start(AWAITED);
    const id = await createByHand();
    await expect.poll(() => auditOf(id)).toHaveLength(1);
    await halt();
    await deleteByHand(id);
    await api.deps.sql`update observed_accesses set created_at = null where id = ${id}`;
    start(AWAITED);
    const both = ["cluster_access.create test", "cluster_access.revoke unknown"];
    await expect.poll(() => auditOf(id)).toEqual(both);
  });

  test("with the id of another organization is in the audit log of none", async () => {
    start();
    const { id: other } = await makeOrganization(api, issuer);
    const labels = { [LABEL_USER_ID]: "by-hand", [LABEL_ORG_ID]: other };
    const forged = await makeAccessObject(api.deps, cluster, owner, labels);
    const later = await createByHand();
    await expect.poll(() => auditOf(later)).toHaveLength(1);
    expect(await auditOf(forged)).toEqual([]);
    for (const id of [forged, later]) await deleteByHand(id);
  });

  test("that REST deletes is audited as the person's", async () => {
    start();
    const id = await createByHand();
    await expect.poll(() => auditOf(id)).toHaveLength(1);
    expect((await as("DELETE", `/clusters/${cluster.id}/accesses/${id}`)).status).toBe(204);
    const later = await createByHand();
    await expect.poll(() => auditOf(later)).toHaveLength(1);
    expect(await auditOf(id)).toEqual(["cluster_access.create test", "cluster_access.revoke user"]);
    await deleteByHand(later);
  });
});

describe("an access by kubectl that waits for the confirmation of the records", () => {
  const email = (person: Person) => person.email.toUpperCase();
  const OLD_ID = "01890000-0000-7000-8000-000000000000";

  test.each<[string, (stranger: Person) => { subject: string; labels?: Record<string, string> }, string]>([
    ["a member by e-mail address", () => ({ subject: email(owner) }), "known"],
    ["somebody else by e-mail address", (stranger) => ({ subject: email(stranger) }), "refused"],
    ["a member by id", () => ({ subject: owner.userId }), "refused"],
    ["somebody else by id", ({ userId }) => ({ subject: userId }), "refused"],
    [
      "a former member, from a backup",
      ({ userId }) => ({
        subject: userId,
        labels: { [LABEL_ID]: OLD_ID, [LABEL_ORG_ID]: org.id, [LABEL_USER_ID]: userId },
      }),
      "refused",
    ],
    [
      "a member, from a backup that the records do not know",
      () => ({
        subject: owner.userId,
        labels: { [LABEL_ID]: OLD_ID, [LABEL_ORG_ID]: org.id, [LABEL_USER_ID]: owner.userId },
      }),
      "refused",
    ],
  ])("and names %s", async (_name, compose, result) => {
    const { subject, labels = {} } = compose(await issuer.createPerson());
    const { namespace, name: clusterName } = cluster;
    const name = `w-${createId().slice(-12)}`;
    const spec = { clusterName, subject, ttlSeconds: 600, csr: (await createClientKey(subject, name)).csr };
    await createAccessObject(api.deps, { metadata: { namespace, name, labels }, spec });
    start();
    const read = () => api.deps.kube.get(clusterAccessKind, namespace, name);
    await expect.poll(async () => readResult(await read())).toBe(result);
    await api.deps.kube.delete(clusterAccessKind, namespace, name);
  });
});

/** The confirmation for this very object. */
function readResult(access: ClusterAccess | undefined): string | undefined {
  const [result, uid = access?.metadata.uid] =
    access?.metadata.annotations?.[ANNOTATION_IDENTITY]?.split(" ") ?? [];
  return uid === access?.metadata.uid ? result : undefined;
}

test("an access ends at its time, also when it comes back from a backup without saying it", async () => {
  start();
  const { issued, access } = await issueSigned(api, cluster, owner);
  expect(Math.abs(Date.parse(access?.spec.notAfter ?? "") - Date.parse(issued.body.expires_at))).toBeLessThan(
    60_000,
  );
  const { db, sql, kube } = api.deps;
  const { name = "", namespace = "", labels = {}, uid } = access?.metadata ?? {};
  const { notAfter: _notAfter, ...spec } = access?.spec ?? {};
  const readRecord = () => findRecorded(db, org.id, issued.body.id);
  await expect.poll(readRecord).toBeDefined();
  // As if the backup were an hour old and the access had gone with its cluster, which is no revocation.
  await sql`update observed_accesses set expires_at = expires_at - interval '1 hour', ended_at = now()
    where uid = ${uid ?? ""}`;
  await kube.mergePatch(clusterAccessKind, namespace, name, { metadata: { finalizers: null } }, BY_HAND);
  await kube.delete(clusterAccessKind, namespace, name);
  const annotations = { [ANNOTATION_IDENTITY]: `known ${uid}` };
  await createAccessObject(api.deps, { metadata: { name, namespace, labels, annotations }, spec });
  const read = async () => kube.get(clusterAccessKind, namespace, name);
  await expect.poll(async () => readResult(await read())).toBe("known");
  const [restored, recorded] = [await read(), await readRecord()];
  expect(restored && findExpiry(restored)).toEqual(recorded?.expiresAt);
  await kube.delete(clusterAccessKind, namespace, name);
});

/** An access that REST issued and that is recorded; `lose` removes it, `restore` brings it back as a backup has it. */
async function issueRecorded(of: ProjectedCluster) {
  const { issued, access } = await issueSigned(api, of, owner);
  const { db, kube } = api.deps;
  await expect.poll(() => findRecorded(db, org.id, issued.body.id)).toBeDefined();
  const { name = "", namespace = "", labels = {} } = access?.metadata ?? {};
  const place = [clusterAccessKind, namespace, name] as const;
  return {
    id: issued.body.id as string,
    async lose() {
      await kube.mergePatch(...place, { metadata: { finalizers: null } }, BY_HAND);
      await kube.delete(...place);
    },
    restore: () =>
      createAccessObject(api.deps, { metadata: { name, namespace, labels }, spec: access?.spec ?? {} }),
    readResult: async () => readResult(await kube.get(...place)),
  };
}

test("an access that is lost a moment before its cluster was not revoked, and comes back from a backup", async () => {
  start({}, 10_000);
  const access = await issueRecorded(lostCluster);
  await access.lose();
  await api.deps.kube.delete(clusterKind, lostCluster.namespace, lostCluster.name);
  await access.restore();
  await expect.poll(access.readResult).toBe("known");
  expect((await auditOf(access.id)).filter((row) => row.startsWith("cluster_access.revoke"))).toEqual([]);
});

test("an access that is deleted and comes back at once from a backup is refused, for it was revoked", async () => {
  start();
  const access = await issueRecorded(cluster);
  await access.lose();
  await access.restore();
  await expect.poll(access.readResult).toBe("refused");
});
