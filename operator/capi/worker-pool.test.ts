import { expect, test } from "vitest";
import { ANNOTATION_APPLIED, ANNOTATION_MACHINE_SIZE } from "../../shared/crd/names.ts";
import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { composeDesiredPool } from "../node-pool/children.ts";
import { makePool, settings } from "../testing.ts";
import type { CapiHealthCheck } from "./kinds.ts";
import { composePool } from "./worker-pool.ts";

const compose = (
  spec: Partial<NodePoolSpec>,
  variables: string[] = ["machine"],
  workerHealthCheck?: CapiHealthCheck,
  replicas?: number,
) =>
  composePool(composeDesiredPool(makePool("web", spec), settings.poolDefaults, replicas), "default", {
    variables: new Set(variables),
    workerHealthCheck,
  });

const hashOf = (spec: Partial<NodePoolSpec>) => compose(spec).metadata?.annotations?.[ANNOTATION_APPLIED];

const SIZE = JSON.stringify({ vcpus: 2, memoryGB: 4, diskGB: 20 });

test.each<[string, Partial<NodePoolSpec>]>([
  ["the size of a machine", { vcpus: 4 }],
  ["a label", { nodeLabels: { tier: "web" } }],
  ["the drain timeout", { drainTimeoutSeconds: 30 }],
  ["autoscaling", { minVCPUs: 2, maxVCPUs: 8 }],
])("another value of %s is another hash", (_what, spec) => {
  expect(hashOf(spec)).not.toBe(hashOf({}));
});

test("more nodes and another displayed name are the same hash", () => {
  expect(hashOf({ desiredNodes: 7, displayName: "Web" })).toBe(hashOf({}));
});

test("the hash is that of earlier versions, for with another one each pool is applied again", () => {
  expect(`${hashOf({})} ${hashOf({ minVCPUs: 2, maxVCPUs: 8 })}`).toBe("91689ddc131d7a66 1f4171acf6e7b310");
});

/**
 * Every step is bounded: what is left out here Cluster API waits for without end. The last bound covers the others, for
 * Cluster API counts it from the beginning of the deletion.
 */
const DELETION = {
  nodeDrainTimeoutSeconds: 600,
  nodeVolumeDetachTimeoutSeconds: 60,
  nodeDeletionTimeoutSeconds: 670,
};

test("a fixed pool has replicas, a size and the platform's drain timeout, and no autoscaler settings", () => {
  expect(compose({ desiredNodes: 3 })).toEqual({
    class: "default",
    name: "web",
    replicas: 3,
    metadata: {
      annotations: { [ANNOTATION_APPLIED]: hashOf({ desiredNodes: 3 }), [ANNOTATION_MACHINE_SIZE]: SIZE },
    },
    deletion: DELETION,
    variables: { overrides: [{ name: "machine", value: { vcpus: 2, memoryGB: 4, diskGB: 20 } }] },
  });
});

test("a pool's own drain timeout overrides the platform's", () => {
  const { deletion } = compose({ drainTimeoutSeconds: 30 });
  expect(deletion).toEqual({ ...DELETION, nodeDrainTimeoutSeconds: 30, nodeDeletionTimeoutSeconds: 100 });
});

test("a class without a machine size variable gets none", () => {
  expect(compose({}, [])).not.toHaveProperty("variables");
});

test("an autoscaled pool has bounds and node capacity, and no replicas", () => {
  const pool = compose({
    minVCPUs: 2,
    maxVCPUs: 9,
    nodeLabels: { tier: "web" },
    nodeTaints: [{ key: "gpu", effect: "NoSchedule" }],
    scaleDownUtilizationPercent: 65,
  });
  expect(pool).not.toHaveProperty("replicas");
  expect(pool.metadata?.annotations).toEqual({
    [ANNOTATION_APPLIED]: expect.stringMatching(/^\w{16}$/),
    [ANNOTATION_MACHINE_SIZE]: SIZE,
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1",
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "4",
    "cluster.x-k8s.io/autoscaling-options-scaledownunneededtime": "600s",
    "cluster.x-k8s.io/autoscaling-options-scaledownutilizationthreshold": "0.65",
    "capacity.cluster-autoscaler.kubernetes.io/cpu": "2",
    "capacity.cluster-autoscaler.kubernetes.io/memory": "4Gi",
    "capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk": "20Gi",
    "capacity.cluster-autoscaler.kubernetes.io/labels": "tier=web",
    "capacity.cluster-autoscaler.kubernetes.io/taints": "gpu=:NoSchedule",
  });
});

test("labels reach live nodes, taints new ones", () => {
  const pool = compose({
    nodeLabels: { tier: "db" },
    nodeTaints: [{ key: "db", value: "yes", effect: "NoSchedule" }],
  });
  expect(pool.metadata?.labels).toEqual({ tier: "db" });
  expect(pool.taints).toEqual([
    { key: "db", value: "yes", effect: "NoSchedule", propagation: "OnInitialization" },
  ]);
});

test("a class with a taints variable gets them through it", () => {
  const pool = compose({ nodeTaints: [{ key: "db", effect: "NoExecute" }] }, ["nodeTaints"]);
  expect(pool).not.toHaveProperty("taints");
  expect(pool.variables?.overrides).toEqual([
    { name: "nodeTaints", value: [{ key: "db", effect: "NoExecute" }] },
  ]);
});

const checks = { nodeStartupTimeoutSeconds: 900 };
const autoscaled = { minVCPUs: 12, maxVCPUs: 40 };
test.each<[string, Partial<NodePoolSpec>, number | undefined, number]>([
  ["no nodes", { desiredNodes: 0 }, 0, 1],
  ["one node", { desiredNodes: 1 }, 1, 1],
  ["four nodes", { desiredNodes: 4 }, 4, 1],
  ["five nodes", { desiredNodes: 5 }, 5, 2],
  ["ten nodes, of which two are there", { desiredNodes: 10 }, 2, 4],
  ["six to twenty nodes, new", autoscaled, undefined, 2],
  ["six to twenty nodes, at present four", autoscaled, 4, 2],
  ["six to twenty nodes, at present 18", autoscaled, 18, 7],
])("of %s at most 40 %%, but one, are replaced at once", (_, spec, liveReplicas, limit) => {
  const pool = compose(spec, [], { checks, remediation: {} }, liveReplicas);
  expect(pool.healthCheck).toEqual({
    checks,
    remediation: { triggerIf: { unhealthyLessThanOrEqualTo: limit } },
  });
  expect(pool.metadata?.annotations?.[ANNOTATION_APPLIED]).toBe(hashOf(spec));
});

test.each<[string, CapiHealthCheck | undefined]>([
  ["no health check", undefined],
  ["a limit of its own", { checks, remediation: { triggerIf: { unhealthyInRange: "[0-3]" } } }],
])("a class with %s is left as it is", (_, healthCheck) => {
  expect(compose({}, [], healthCheck)).not.toHaveProperty("healthCheck");
});
