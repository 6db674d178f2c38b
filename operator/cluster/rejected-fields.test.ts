import { describe, expect, test } from "vitest";
import { makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import {
  actions,
  CIDRS,
  changePools,
  machineOf,
  poolsOf,
  rejectsSize,
  running,
  SENTENCE,
  SIZE,
  settle,
  settleWhole,
  type Topology,
  type Validate,
  variableOf,
  WEB,
} from "./testing-rejections.ts";

const withNewPool = () => {
  const added = aCluster().withPools(makePool("new", SIZE)).observed.pools;
  return running.with({ pools: [...running.observed.pools, ...added] });
};
const PACKAGES = { packages: { default: { controlPlaneReplicas: 3 }, gold: { controlPlaneReplicas: 3 } } };
const inPlan = (fixture: ClusterFixture) =>
  fixture.with({
    ...PACKAGES,
    settings: {
      ...fixture.observed.settings,
      servicePlans: {
        ...fixture.observed.settings.servicePlans,
        gold: { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 1 },
      },
    },
  });

interface RejectedField {
  /** A cluster that asks for what is rejected, beside which another change is made. */
  given: ClusterFixture;
  validate: Validate;
  /** The part that is not applied, as the status names it. */
  field: string;
  reason?: string;
  /** What of the rejected part is as it was. */
  kept: (topology: Topology) => unknown;
  expected: unknown;
  message: string;
}

const LIVE_MACHINE = { vcpus: 2, memoryGB: 4, diskGB: 20 };
const rejectable: Record<string, RejectedField> = {
  "the size of a pool": {
    given: changePools(running, { gpu: SIZE }),
    validate: rejectsSize("gpu"),
    field: "nodePools/gpu",
    kept: (topology) => machineOf(topology, "gpu"),
    expected: LIVE_MACHINE,
    message: `Cluster API rejects the node pool gpu as specified: ${SENTENCE}. Change it, or ask the platform's operator.`,
  },
  "the size of a pool, which the schema names by its place": {
    given: changePools(running, { gpu: SIZE }),
    validate: rejectsSize("gpu", "1"),
    field: "nodePools/gpu",
    kept: (topology) => machineOf(topology, "gpu"),
    expected: LIVE_MACHINE,
    message: SENTENCE,
  },
  "the size of a new pool": {
    given: withNewPool(),
    validate: rejectsSize("new"),
    field: "nodePools/new",
    kept: (topology) => poolsOf(topology).some(({ name }) => name === "new"),
    expected: false,
    message: SENTENCE,
  },
  "a label of a pool": {
    given: changePools(running, { gpu: { nodeLabels: { tier: "gold" } } }),
    validate: (sent) =>
      poolsOf(sent).some(({ metadata }) => metadata?.labels?.tier !== undefined)
        ? {
            field: "spec.topology.workers.machineDeployments[gpu].metadata.labels",
            message: 'Invalid value: "gold": it is reserved',
          }
        : undefined,
    field: "nodePools/gpu",
    kept: (topology) => poolsOf(topology).find(({ name }) => name === "gpu")?.metadata?.labels,
    expected: undefined,
    message: "it is reserved",
  },
  "taints of a known pool, as its gate is off": {
    given: changePools(running, { gpu: { nodeTaints: [{ key: "gpu", effect: "NoSchedule" }] } }),
    validate: (sent) =>
      poolsOf(sent).some(({ taints }) => taints !== undefined)
        ? {
            field: "spec.topology.workers.machineDeployments[gpu].taints",
            message:
              "Forbidden: taints are not allowed to be set when the feature gate MachineTaintPropagation is disabled",
          }
        : undefined,
    field: "nodePools/gpu",
    reason: "TaintsUnavailable",
    kept: (topology) => poolsOf(topology).find(({ name }) => name === "gpu")?.taints,
    expected: undefined,
    message: "new nodes of the node pool gpu have none",
  },
  "a variable": {
    given: running.withSpec({ publicEndpoint: false }),
    validate: (sent) =>
      variableOf(sent, "publicEndpoint") === false
        ? {
            field: "spec.topology.variables[publicEndpoint].value",
            message: 'Invalid value: "false": must be true',
          }
        : undefined,
    field: "publicEndpoint",
    kept: (topology) => variableOf(topology, "publicEndpoint"),
    expected: true,
    message: "Cluster API rejects spec.publicEndpoint: must be true.",
  },
  "the control plane": {
    given: running.withSpec({ controlPlaneReplicas: 3 }),
    validate: (sent) =>
      sent.controlPlane?.replicas === 3
        ? { field: "spec.topology.controlPlane.replicas", message: "Forbidden: not with this etcd" }
        : undefined,
    field: "controlPlaneReplicas",
    kept: (topology) => topology.controlPlane?.replicas,
    expected: 1,
    message: "Cluster API rejects spec.controlPlaneReplicas: not with this etcd.",
  },
  "a number of replicas that its package does not have": {
    given: inPlan(running.withSpec({ plan: "gold", controlPlaneReplicas: 5 })),
    validate: () => undefined,
    field: "controlPlaneReplicas",
    reason: "ReplicasNotInPlan",
    kept: (topology) => topology.controlPlane?.replicas,
    expected: 1,
    message: "this one must have 1",
  },
};

describe.each(Object.entries(rejectable))("%s is rejected", (_, one) => {
  test.each(Object.entries(actions))("and %s all the same", (__, { act, seen, is }) => {
    const { applied, status } = settleWhole(act(one.given), one.validate);
    expect(applied && [seen(applied), one.kept(applied)]).toEqual([is, one.expected]);
    const { field, reason = "RejectedByClusterAPI" } = one;
    const message = expect.stringContaining(one.message);
    expect(status?.unapplied).toEqual([{ field, reason, message }]);
    expect(status?.conditions?.find(({ type }) => type === "Stalled")).toMatchObject({ reason, message });
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  });
});

describe("a field that cannot be told is rejected", () => {
  const validate: Validate = (sent) =>
    variableOf(sent, "publicEndpoint") === false ? { message: "not today" } : undefined;
  const given = running.withSpec({ publicEndpoint: false });

  test.each([
    ["another pool is scaled", false],
    ["a pool is deleted", true],
    ["the list of networks is shortened", true],
    ["the cluster is upgraded", false],
  ])("%s: %s", (name, isDone) => {
    const { act, seen, is } = actions[name] ?? {};
    const { applied, status } = settleWhole(act?.(given) ?? given, validate);
    expect(applied && variableOf(applied, "publicEndpoint")).toBe(true);
    expect(applied && seen?.(applied) === is).toBe(isDone);
    const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
    expect(stalled).toMatchObject({ reason: "RejectedByClusterAPI" });
  });
});

test("a new cluster is made without the pool that is rejected, and is ready without it", () => {
  const fresh = aCluster().withPools(WEB, makePool("new", SIZE));
  const created = fresh.with({ rejected: new Map([["machine new", SENTENCE]]) });
  const ready = created.ready();
  expect(poolsOf(ready.capiObject().spec?.topology as Topology).map(({ name }) => name)).toEqual(["web"]);
  expect(ready.observed.cluster.status?.firstReadyAt).toBeDefined();
});

test("while nothing is sent, what is not applied stays reported", () => {
  const given = changePools(running, { gpu: SIZE });
  const { cluster, settings } = given.observed;
  const { status } = settleWhole(given, rejectsSize("gpu"));
  const inForce = status?.conditions?.map((condition) =>
    condition.type === "NetworkPolicyApplied" ? { ...condition, status: "True" as const } : condition,
  );
  const reported = given.with({ cluster: { ...cluster, status: { ...status, conditions: inForce } } });
  const otherPlatform = { settings: { ...settings, platformCIDRs: ["192.0.2.128/25"] } };
  for (const fixture of [reported.with(otherPlatform), reported.withSpec({ suspend: true })]) {
    const { plan } = settle(fixture, rejectsSize("gpu"));
    expect(plan.write.filter(({ verb }) => verb === "apply")).toEqual([]);
    expect(plan.status?.unapplied).toEqual(status?.unapplied);
  }
});

describe("of a suspended cluster, what was rejected is no longer reported", () => {
  const [field, reason, message] = ["nodePools/gpu", "RejectedByClusterAPI", "No such size."];
  const asked = {
    version: "1.35",
    controlPlaneReplicas: 3 as const,
    publicEndpoint: false,
    network: { authorizedCIDRs: ["10.99.0.0/16"] },
  };
  const rule = "network.authorizedCIDRs";
  const names = [field, "version", "controlPlaneReplicas", "publicEndpoint", rule];
  const parts = names.map((name) => ({ field: name, reason, message }));
  const suspended = changePools(running, { gpu: SIZE }).withSpec({ ...asked, suspend: true });
  const { cluster } = suspended.observed;
  const reported = suspended.with({
    cluster: { ...cluster, status: { ...cluster.status, unapplied: parts } },
  });
  const fieldsOf = (fixture: ClusterFixture) =>
    (fixture.plan().status ?? fixture.observed.cluster.status)?.unapplied?.map((part) => part.field) ?? [];

  test.each<[string, ClusterFixture, string | undefined]>([
    ["while it is specified", reported, undefined],
    ["once its pool has the former size again", changePools(reported, { gpu: LIVE_MACHINE }), field],
    ["once its pool is deleted", changePools(reported, { gpu: "deleted" }), field],
    ["once its pool is gone", reported.with({ pools: reported.observed.pools.slice(0, 1) }), field],
    ["once it has the former version again", reported.withSpec({ version: "1.34" }), "version"],
    [
      "once it has the former control plane again",
      reported.withSpec({ controlPlaneReplicas: 1 }),
      "controlPlaneReplicas",
    ],
    ["once it has the former endpoint again", reported.withSpec({ publicEndpoint: true }), "publicEndpoint"],
    ["once it has the former list again", reported.withSpec({ network: { authorizedCIDRs: CIDRS } }), rule],
  ])("%s", (_, fixture, taken) => {
    expect(fieldsOf(fixture)).toEqual(parts.map((part) => part.field).filter((name) => name !== taken));
  });

  test("unless Cluster API rejects it still, which keeps what it has", () => {
    const still = reported.with({
      rejected: new Map([
        ["machine gpu", "No such size."],
        ["variable authorizedCIDRs", "No such network."],
      ]),
    });
    const fields = fieldsOf(still);
    for (const one of [field, rule]) expect(fields.filter((name) => name === one)).toHaveLength(1);
  });
});
