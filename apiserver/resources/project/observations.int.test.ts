import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { auditLog } from "../../audit/table.ts";
import { feedEvents } from "../../events/table.ts";
import { startTestApp } from "../../testing/app.ts";
import { isNameFree } from "../write/testing.ts";
import { findCluster, projectObservations, toProjectedCluster } from "./index.ts";
import type { ProjectedCluster } from "./project.ts";
import { clusterRecords } from "./table.ts";
import { readTransitionTypes } from "./testing.ts";

const api = setUp(startTestApp);
let orgId: string;

beforeAll(async () => {
  orgId = await api.createOrganization();
});

let version = 1_000_000n;

/** A cluster of the organization as some report shows it; nothing of it exists in Kubernetes. */
function anObject(change: Partial<ProjectedCluster> = {}): ProjectedCluster {
  const id = change.id ?? createId();
  version += 1n;
  const projected = toProjectedCluster(
    {
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      metadata: {
        name: `c-${id.slice(-12)}`,
        namespace: `org-${orgId}`,
        uid: crypto.randomUUID(),
        resourceVersion: String(version),
        creationTimestamp: "2026-11-21T09:00:00Z",
        labels: { "cloud.marina.dev/id": id },
      },
      spec: { displayName: `Name ${id}`, version: "1.34.2", publicEndpoint: true },
    },
    orgId,
  );
  if (projected === undefined) throw new Error("not projected");
  return { ...projected, ...change };
}

function observe(object: ProjectedCluster, how: { deleted?: boolean; authoritative?: boolean } = {}) {
  return api.deps.db.transaction((tx) => projectObservations(tx, [{ object, ...how }]));
}

async function statusesOf(clusterId: string) {
  const rows = await api.deps.db
    .select()
    .from(feedEvents)
    .where(eq(feedEvents.clusterId, clusterId))
    .orderBy(feedEvents.id);
  return rows.map(({ payload }) => ("status" in payload ? [payload.previousStatus, payload.status] : []));
}

describe("an observation", () => {
  test("is served, and an older report of it changes nothing", async () => {
    const first = anObject();
    const second = { ...first, resourceVersion: first.resourceVersion + 10n, displayName: "Newer" };
    await observe(second);
    await observe(first);
    expect((await findCluster(api.deps.db, orgId, first.id))?.displayName).toBe("Newer");
  });

  test("is replaced by an older version when that was read live, as after a restore", async () => {
    const now = anObject();
    await observe(now);
    await observe({ ...now, resourceVersion: 5n, displayName: "Restored" }, { authoritative: true });
    expect((await findCluster(api.deps.db, orgId, now.id))?.displayName).toBe("Restored");
  });

  test("is not restored by a late report once it is deleted", async () => {
    const object = anObject();
    await observe(object);
    await observe(object, { deleted: true });
    await observe({ ...object, resourceVersion: object.resourceVersion + 10n });
    expect(await findCluster(api.deps.db, orgId, object.id)).toBeUndefined();
    expect(await readTransitionTypes(api.deps.db, object.id)).toEqual(["created", "deleted"]);
    const [record] = await api.deps.db.select().from(clusterRecords).where(eq(clusterRecords.id, object.id));
    expect(record?.deletedAt).not.toBeNull();
  });

  test("under a new uid replaces the old one, which then may go without harm", async () => {
    const old = anObject();
    await observe(old);
    const restored = { ...old, uid: crypto.randomUUID(), resourceVersion: 3n };
    await observe(restored);
    await observe(old, { deleted: true });
    expect((await findCluster(api.deps.db, orgId, old.id))?.uid).toBe(restored.uid);
    expect(await readTransitionTypes(api.deps.db, old.id)).toEqual(["created"]);
  });

  test("of another object with the same id is refused and not served", async () => {
    const own = anObject();
    await observe(own);
    const impostor = anObject({ id: own.id, orgId: createId(), namespace: "org-other" });
    expect((await observe(impostor)).refused).toEqual([own.id]);
    expect((await findCluster(api.deps.db, orgId, own.id))?.uid).toBe(own.uid);
    expect(await findCluster(api.deps.db, impostor.orgId, own.id)).toBeUndefined();
  });

  test("appends each change of status to the live feed once", async () => {
    const object = anObject();
    await observe(object);
    const running = { ...object, status: "running" as const, resourceVersion: object.resourceVersion + 1n };
    await observe(running);
    await observe({ ...running, resourceVersion: object.resourceVersion + 2n });
    expect(await statusesOf(object.id)).toEqual([
      [null, "provisioning"],
      ["provisioning", "running"],
    ]);
  });

  test("is in the transition log once, whichever process reports it first", async () => {
    const object = anObject();
    const ready = {
      ...object,
      resourceVersion: object.resourceVersion + 1n,
      object: {
        ...object.object,
        status: { transitions: [{ sequence: 1, type: "Ready" as const, at: "2026-11-21T09:05:00Z" }] },
      },
    };
    await Promise.all([observe(object), observe(ready), observe(ready)]);
    expect((await readTransitionTypes(api.deps.db, object.id)).sort()).toEqual(["created", "ready"]);
  });

  test("by many writers at once, in any order, does not deadlock", async () => {
    const [a, b] = [anObject(), anObject()];
    const both = (objects: ProjectedCluster[], step: bigint) =>
      api.deps.db.transaction((tx) =>
        projectObservations(
          tx,
          objects.map((object) => ({
            object: { ...object, resourceVersion: object.resourceVersion + step },
          })),
        ),
      );
    await Promise.all(
      Array.from({ length: 20 }, (_, step) => both(step % 2 === 0 ? [a, b] : [b, a], BigInt(step))),
    );
    expect((await findCluster(api.deps.db, orgId, a.id))?.resourceVersion).toBe(a.resourceVersion + 19n);
  });
});

describe("a name", () => {
  test("belongs to the object observed with it, and is free when that is deleted", async () => {
    const object = anObject({ displayName: "Wanted" });
    await observe(object);
    expect(await isNameFree(api.deps.db, orgId, "wANTED")).toBe(false);
    await observe(object, { deleted: true });
    expect(await isNameFree(api.deps.db, orgId, "wanted")).toBe(true);
  });

  test("follows a renaming by kubectl", async () => {
    const object = anObject({ displayName: "Before" });
    await observe(object);
    await observe({ ...object, displayName: "After", resourceVersion: object.resourceVersion + 1n });
    expect(await isNameFree(api.deps.db, orgId, "before")).toBe(true);
    expect(await isNameFree(api.deps.db, orgId, "after")).toBe(false);
  });

  test("that another object holds does not keep an object of GitOps from being served", async () => {
    const first = anObject({ displayName: "Same" });
    await observe(first);
    const second = anObject({ displayName: "same" });
    await observe(second);
    expect((await findCluster(api.deps.db, orgId, second.id))?.displayName).toBe("same");
    await observe(first, { deleted: true });
    expect(await isNameFree(api.deps.db, orgId, "same")).toBe(false);
  });
});

test("transitions that were not observed while the status listed them are named in the audit log, once", async () => {
  const cluster = anObject();
  const observeListing = (...sequences: number[]) => {
    const transitions = sequences.map((sequence) => ({
      sequence,
      type: "Degraded" as const,
      at: new Date(Date.UTC(2026, 10, 21, 9, sequence)).toISOString(),
    }));
    version += 1n;
    const object = { ...cluster.object, status: { transitions } };
    return observe({ ...cluster, resourceVersion: version, object });
  };
  await observeListing(1, 2, 3);
  await observeListing(3, 4);
  await observeListing(8, 9);
  await observeListing(8, 9, 10);
  await observeListing(11, 20, 21);
  const entries = await api.deps.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.targetId, cluster.id), eq(auditLog.action, "cluster.transitions_missed")));
  expect(entries.map(({ actor, after }) => ({ actor, after }))).toEqual([
    { actor: { kind: "system", name: "projector" }, after: { firstMissed: 5, lastMissed: 7 } },
    { actor: { kind: "system", name: "projector" }, after: { firstMissed: 12, lastMissed: 19 } },
  ]);
});
