import { describe, expect, test } from "vitest";
import type { ManagedFieldsEntry } from "../../shared/kube/kind.ts";
import { topologyOf } from "../cluster/testing-plan.ts";
import { aPool } from "../node-pool/testing.ts";
import { makePool } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { trimNodePool } from "./released-count.ts";

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
const cached = (managedFields: ManagedFieldsEntry[], applied?: string) =>
  trimNodePool(
    makePool(
      "web",
      // Another size too, so that the topology is applied.
      { desiredNodes: 1, vcpus: 4 },
      { managedFields, ...(applied !== undefined && { annotations: { [LAST_APPLIED]: applied } }) },
    ),
  );

const RELEASED = cached([entry(SIZE)]);

describe("of 3 nodes a pool with the default count of 1 keeps", () => {
  test.each([
    ["3 when nobody sets the count", 3, RELEASED],
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

test("a pool that nobody has ever counted gets the default", () => {
  const topology = topologyOf(aCluster().withPools(RELEASED).plan());
  expect(topology?.workers?.machineDeployments).toMatchObject([{ replicas: 1 }]);
});

test("a pool whose count was released says so until somebody sets it, and stays ready", () => {
  const { metadata } = RELEASED;
  const ready = aPool({ desiredNodes: 3 }).withNodes(3).reconciled();
  const { pool } = ready.observed;
  const released = ready.with({
    pool: {
      ...pool,
      spec: { ...pool.spec, desiredNodes: 1 },
      metadata: { ...pool.metadata, managedFields: metadata.managedFields ?? [] },
    },
  });
  expect(released.condition("Scaling")).toMatchObject({ status: "True", reason: "CountReleased" });
  expect(released.condition("Reconciling")).toMatchObject({ status: "True", reason: "CountReleased" });
  expect(released.condition("Ready")).toMatchObject({ status: "True" });
  expect(released.plan().status).toMatchObject({ phase: "Scaling", nodes: 3 });
  const scaledUp = released.withSpec({ desiredNodes: 3 });
  expect(scaledUp.condition("Scaling")).toMatchObject({ status: "False" });
  // The Kubernetes API records no scale of a count that nobody manages.
  const set = scaledUp.reconciled();
  expect(set.status()).toMatchObject({ countUnmanaged: true });
  const scaled = set.withSpec({ desiredNodes: 1 });
  expect(scaled.condition("Scaling")).toMatchObject({ status: "True", reason: "Scaling" });
});
