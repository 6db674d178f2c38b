import { describe, expect, test } from "vitest";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { ManagedFieldsEntry, ObjectMeta } from "../../shared/kube/kind.ts";
import { topologyOf } from "../cluster/testing-plan.ts";
import { aPool, capiPoolWith, type PoolFixture } from "../node-pool/testing.ts";
import { makePool } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { trimNodePool } from "./pool-replicas.ts";

const COUNT = { "f:spec": { "f:desiredNodes": {} } };
const SIZE = { "f:spec": { "f:vcpus": {} } };
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const ON_CLIENT = { ...COUNT, "f:metadata": { "f:annotations": { ".": {}, [`f:${LAST_APPLIED}`]: {} } } };

const entry = (fieldsV1: Record<string, unknown>, more: Partial<ManagedFieldsEntry> = {}) => ({
  manager: "someone",
  operation: "Apply" as const,
  fieldsV1,
  ...more,
});
const update = { operation: "Update" as const };

/** A pool with the default count, as it is cached. */
const cachedWith = (metadata: Partial<ObjectMeta>) =>
  // Another size too, so that the topology is applied.
  trimNodePool(makePool("web", { desiredNodes: 1, vcpus: 4 }, metadata));
const cached = (managedFields: ManagedFieldsEntry[], applied?: string) =>
  cachedWith({
    managedFields,
    ...(applied !== undefined && { annotations: { [LAST_APPLIED]: applied } }),
  });

/** A pool that came back from a backup at noon, with an id of two hours before. */
const restored = (...managedFields: ManagedFieldsEntry[]) =>
  cachedWith({
    managedFields,
    labels: { [LABEL_ID]: "0193a1f2-7c3e-7000-8000-000000000000" },
    creationTimestamp: "2026-01-01T12:00:00Z",
  });

const RELEASED = cached([entry(SIZE)]);

describe("of 3 nodes a pool with the default count of 1 keeps", () => {
  test.each([
    ["3 when no manager sets the count", 3, RELEASED],
    ["3 when nothing is managed", 3, cached([])],
    ["3 when only a status has it", 3, cached([entry(COUNT, { ...update, subresource: "status" })])],
    ["1 when somebody applies it", 1, cached([entry(SIZE), entry(COUNT)])],
    ["1 when somebody has written it", 1, cached([entry(COUNT, update)])],
    ["1 when somebody has scaled to it", 1, cached([entry(COUNT, { ...update, subresource: "scale" })])],
    [
      "3 when a manifest of the client's side has left it out",
      3,
      cached([entry(ON_CLIENT, update)], '{"spec":{}}'),
    ],
    [
      "1 when a manifest of the client's side has it",
      1,
      cached([entry(ON_CLIENT, update)], '{"spec":{"desiredNodes":1}}'),
    ],
    [
      "1 when a manifest of the client's side has it, and has not changed it",
      1,
      cached([entry(SIZE)], '{"spec":{"desiredNodes":1}}'),
    ],
    [
      "3 when the program that restored it wrote every field",
      3,
      restored(entry(COUNT, { ...update, time: "2026-01-01T11:59:59Z" })),
    ],
    [
      "1 when somebody has written it since it was restored",
      1,
      restored(entry(COUNT, { ...update, time: "2026-01-01T12:10:00Z" })),
    ],
    [
      "1 when a manifest has it that was restored",
      1,
      restored(entry(COUNT, { time: "2026-01-01T12:00:00Z" })),
    ],
    ["1 when that manifest cannot be read", 1, cached([entry(ON_CLIENT, update)], "{")],
    ["1 when its managers are not known", 1, makePool("web", { desiredNodes: 1, vcpus: 4 })],
  ])("%s", (_, replicas, pool) => {
    const fixture = aCluster()
      .withPools(makePool("web", { desiredNodes: 3 }))
      .ready();
    const pools = fixture.observed.pools.map((one) => ({ ...one, pool }));
    const topology = topologyOf(fixture.with({ pools }).plan());
    expect(topology?.workers?.machineDeployments).toMatchObject([{ replicas }]);
  });
});

test("a pool whose count was never set gets the default", () => {
  const topology = topologyOf(aCluster().withPools(RELEASED).plan());
  expect(topology?.workers?.machineDeployments).toMatchObject([{ replicas: 1 }]);
});

test("a pool whose count was released says so until somebody sets it, and is at rest", () => {
  const released = aPool({ desiredNodes: 3 }).withNodes(3).reconciled().withReleasedCount();
  expect(released.condition("Scaling")).toMatchObject({
    status: "False",
    reason: "CountReleased",
    message: expect.stringContaining("keeps 3 nodes"),
  });
  expect(released.condition("Reconciling")).toMatchObject({ status: "False" });
  expect(released.condition("Ready")).toMatchObject({ status: "True" });
  expect(released.plan().status).toMatchObject({
    phase: "Ready",
    nodes: 3,
    message: released.condition("Scaling")?.message,
  });
  const scaledUp = released.withSpec({ desiredNodes: 3 });
  expect(scaledUp.condition("Scaling")).toMatchObject({ status: "False", reason: "NotScaling" });
  // The Kubernetes API records no scale of a count that has no manager.
  const set = scaledUp.reconciled();
  expect(set.status()).toMatchObject({ countUnmanaged: true });
  const scaled = set.withSpec({ desiredNodes: 1 });
  expect(scaled.condition("Scaling")).toMatchObject({ status: "True", reason: "Scaling" });
});

describe("a release of 20 nodes removes none", () => {
  const twenty = () => aPool({ desiredNodes: 20 }).withNodes(20).reconciled();
  const applied = cached([entry(SIZE)], '{"spec":{"desiredNodes":20}}').metadata;
  test.each<[string, PoolFixture]>([
    [
      "while the pool was autoscaled",
      aPool({ maxVCPUs: 80 })
        .withNodes(20)
        .reconciled()
        .withReleasedCount()
        .reconciled()
        .withSpec({ maxVCPUs: undefined }),
    ],
    [
      "by a manifest of the client's side that had the number that was scaled to",
      twenty()
        .withReleasedCount()
        .withSpec({ desiredNodes: 20 })
        .reconciled()
        .withManagers(applied.managedFields)
        .reconciled()
        .withReleasedCount(),
    ],
    [
      "of a pool that was there before its nodes were",
      aPool({ desiredNodes: 20 }).withReleasedCount().reconciled().withNodes(20),
    ],
    ["while the pool gets other settings", twenty().withReleasedCount().withSpec({ vcpus: 4 })],
  ])("%s", (_, fixture) => {
    const { conditions, ...status } = fixture.reconciled().status() ?? {};
    const kept = { type: "Scaling", status: "False", reason: "CountReleased" };
    expect(conditions).toContainEqual(expect.objectContaining(kept));
    expect(status).not.toHaveProperty("countUnmanaged");
  });
});

test("a reduction that waits while its count is released is still made", () => {
  const scale = { kind: "fixed", nodes: 3 } as const;
  const waiting = aPool({ desiredNodes: 3 })
    .withNodes(5)
    .with({ topologyPool: { scale, machineSize: undefined, appliedHash: undefined } });
  expect(waiting.reconciled().withReleasedCount().condition("Scaling")).toMatchObject({
    status: "True",
    message: expect.stringContaining("to 3 nodes"),
  });
  const fixture = aCluster()
    .withPools(makePool("web", { desiredNodes: 3 }))
    .ready();
  const pools = fixture.observed.pools.map((one) => ({
    ...one,
    pool: RELEASED,
    machineDeployment: capiPoolWith({ desired: 5 }),
  }));
  const topology = topologyOf(fixture.with({ pools }).plan());
  expect(topology?.workers?.machineDeployments).toMatchObject([{ replicas: 3 }]);
});
