import { describe, expect, test } from "vitest";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import { makeClass, makeCondition, makePool, settings } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { needsInfrastructureObject } from "./networks.ts";
import type { ObservedCluster } from "./observe.ts";
import { conditionOf, topologyOf } from "./testing-plan.ts";

const POLICY = "NetworkPolicyApplied";
const LIST = { authorizedCIDRs: ["198.51.100.0/24"] };
const LIMIT = { apiServerRateLimit: { maxConnectionsPerSecond: 5, burst: 10 } };
const RULES = { "no rules": {}, "a list": LIST, "a rate limit": LIMIT };
const STATUSES = ["True", "False", "Unknown"] as const;
type Status = (typeof STATUSES)[number];

const REJECTED = { applyFailure: { kind: "rejected" as const, message: "spec: Invalid value" } };
const WITHOUT_PLANS = { settings: { ...settings, servicePlans: {} } };
interface ClusterProblem {
  reason: string;
  spec: Partial<ClusterSpec>;
  change?: Partial<ObservedCluster>;
}
/** What is wrong with a cluster beside its network rules. */
const PROBLEMS: Record<string, ClusterProblem> = {
  "an unknown version": { reason: "UnknownVersion", spec: { version: "1.99" } },
  "an unknown plan": { reason: "UnknownPlan", spec: { version: "1.35" }, change: WITHOUT_PLANS },
  "a rejection": { reason: "RejectedByClusterAPI", spec: { controlPlaneReplicas: 3 }, change: REJECTED },
};

const standard = makeClass();
const variables = new Set([...standard.variables].filter((name) => name !== "apiServerRateLimit"));
const ignorable = {
  classes: new Map([["marina-system/standard-v1", { ...standard, mayIgnoreAuthorizedCIDRs: true }]]),
};
const unlimited = { classes: new Map([["marina-system/standard-v1", { ...standard, variables }]]) };

const listOf = (fixture: ClusterFixture) =>
  fixture.capiObject().spec?.topology?.variables?.find(({ name }) => name === "authorizedCIDRs")?.value;
const policyOf = (fixture: ClusterFixture) =>
  fixture.observed.cluster.status?.conditions?.find(({ type }) => type === POLICY);
/** As the next status says it. */
const nextPolicyOf = (fixture: ClusterFixture) => policyOf(fixture.with({}).reconciled());
const unreadable = { infrastructure: { hasActed: undefined, lists: [], unreadable: "example.com" } };
const silent = { infrastructure: { hasActed: false, isSilent: true, lists: [] } };
const actedOn = (list: unknown = []): Partial<ObservedCluster> => ({
  infrastructure: { hasActed: true, lists: [new Set(["subnet-1"]), new Set(list as string[])] },
});

/** The last status said so of the network rules. */
function withLast(fixture: ClusterFixture, status: Status): ClusterFixture {
  const { cluster } = fixture.observed;
  const last = { ...makeCondition(POLICY, status), message: "", observedGeneration: 1 };
  const others = (cluster.status?.conditions ?? []).filter(({ type }) => type !== POLICY);
  const known = cluster.status ?? fixture.plan().status;
  if (known === undefined) throw new Error("nothing was decided");
  return fixture.with({ cluster: { ...cluster, status: { ...known, conditions: [...others, last] } } });
}

const inAnyCase = Object.entries(RULES).flatMap(([what, network]) =>
  STATUSES.map((last) => ({ what, network, last })),
);

describe("of a cluster that is not made nothing is known, whatever was said", () => {
  test.each(inAnyCase)("with $what and $last", ({ network, last }) => {
    for (const { reason, spec, change = {} } of Object.values(PROBLEMS)) {
      const fixture = aCluster({ network, ...spec }).with(change);
      expect(conditionOf(fixture.plan(), "Stalled")?.reason).toBe(reason);
      for (const one of [fixture, withLast(fixture, last)])
        expect(nextPolicyOf(one)).toMatchObject({ status: "Unknown", reason });
    }
    const fresh = aCluster({ network });
    for (const one of [fresh, withLast(fresh, last)])
      expect(conditionOf(one.plan(), POLICY)).toMatchObject({ status: "Unknown", reason: "Provisioning" });
  });

  test.each([
    ["is lost", aCluster().ready().with({ capi: undefined }), "InfrastructureLost"],
    [
      "is deleted",
      aCluster().withPools(makePool("web")).ready().deleting().with({ capi: undefined }),
      "Deleting",
    ],
    [
      "waits for a class with a private endpoint",
      aCluster({ publicEndpoint: false }).with({
        classes: new Map([["marina-system/standard-v1", makeClass(["workerSubnet"])]]),
      }),
      "UnsupportedByClass",
    ],
  ])("as of one that %s", (_what, fixture, reason) => {
    expect(conditionOf(fixture.plan(), POLICY)).toMatchObject({ status: "Unknown", reason });
  });
});

describe("of a cluster that is there", () => {
  const ready = (network: object) => aCluster({ network }).ready();

  test.each(inAnyCase)("with $what what was said of it holds: $last", ({ network, last }) => {
    const fixture = withLast(ready(network), last);
    const reason = last === "True" ? "Applied" : "Provisioning";
    expect(nextPolicyOf(fixture)).toMatchObject({ status: last, reason });
  });

  describe.each(Object.entries(PROBLEMS))("%s", (_problem, { reason, spec, change = {} }) => {
    const own = reason === "RejectedByClusterAPI" ? reason : "Provisioning";

    test.each(inAnyCase)("makes nothing of it False, with $what and $last", ({ what, network, last }) => {
      const fixture = withLast(ready(network), last).withSpec(spec).with(change);
      expect(conditionOf(fixture.plan(), "Stalled")?.reason).toBe(reason);
      // Rules may have changed with the specification.
      const status = last === "True" && what !== "no rules" ? "Unknown" : last;
      expect(nextPolicyOf(fixture)).toMatchObject({ status, reason: status === "True" ? "Applied" : own });
    });

    test.each(inAnyCase)("hides nothing that is seen, with $what and $last", ({ network, last }) => {
      const before = withLast(ready(network), last);
      const fixture = before
        .with(actedOn(listOf(before)))
        .withSpec(spec)
        .with(change);
      expect(nextPolicyOf(fixture)).toMatchObject({ status: "True", reason: "Applied" });
    });
  });

  test("rules that are not sent for a rejection are not in force, and the rejection is the reason", () => {
    for (const network of [LIST, LIMIT]) {
      const fixture = ready({}).withSpec({ network }).with(REJECTED);
      expect(nextPolicyOf(fixture)).toMatchObject({ status: "False", reason: "RejectedByClusterAPI" });
    }
  });

  test("rules that are sent beside an unknown version are being applied", () => {
    const fixture = ready({}).withSpec({ network: LIST, version: "1.99" });
    expect(nextPolicyOf(fixture)).toMatchObject({ status: "False", reason: "Provisioning" });
  });
});

describe("rules that are removed are in force until the infrastructure has none", () => {
  const sent = aCluster().ready().withSpec({ network: LIST }).reconciled().capiConverged();
  const inForce = sent.with(actedOn(listOf(sent))).reconciled();
  const removed = inForce.withSpec({ network: {} });
  const without = removed.reconciled().reconciled().capiConverged();
  const rolling = without.withCapiConditions([makeCondition("RollingOut", "True")]);
  const listWithoutNodes = (listOf(sent) as string[]).filter((one) => !one.startsWith("10."));
  const withTwoNetworks = { ...settings, platformCIDRs: ["192.0.2.0/24", "192.0.3.0/24"] };

  test("the status is corrected before Cluster API gets none, so that no crash in between leaves it True", () => {
    expect(policyOf(inForce)?.status).toBe("True");
    expect(removed.plan().write).toEqual([]);
    expect(conditionOf(removed.plan(), POLICY)).toMatchObject({ status: "False", reason: "Provisioning" });
    expect(topologyOf(removed.reconciled().plan())).toBeDefined();
    expect(listOf(without)).toBeUndefined();
  });

  test.each<[string, ClusterFixture, Status]>([
    ["it was not read", without.with({ infrastructure: undefined }), "False"],
    ["it has the former list", without.with(actedOn(listOf(sent))), "False"],
    ["it may not be read", without.with(unreadable), "Unknown"],
    ["it has none, and does not report whether it has acted", without.with(silent), "True"],
    ["it has not acted", without.with({ infrastructure: { hasActed: false, lists: [] } }), "False"],
    ["machines may have the former rate limit", rolling.with(actedOn()), "False"],
    ["it has none, and has acted", without.with(actedOn()), "True"],
    ["its class leaves the nodes' network to the provider", without.with(actedOn(listWithoutNodes)), "False"],
    [
      "it has another list, of one of the networks of the platform",
      without.with({ ...actedOn(["192.0.2.0/24"]), settings: withTwoNetworks }),
      "True",
    ],
    [
      "machines are being replaced, which never had a rate limit",
      rolling.with(actedOn()).with(unlimited),
      "True",
    ],
  ])("%s", (_what, fixture, status) => {
    expect(needsInfrastructureObject(fixture.observed)).toBe(true);
    expect(nextPolicyOf(fixture)?.status).toBe(status);
  });

  test.each([
    ["RollingOut", {}, "Machines are being replaced one after another."],
    ["Upgrading", { version: "1.35" }, "to 1.35.1: waiting for machines that are being replaced."],
  ])("a cluster that is %s meanwhile names them too", (reason, spec, text) => {
    const message = expect.stringContaining(`${text} The network rules are being applied.`);
    expect(conditionOf(rolling.withSpec(spec).plan(), "Reconciling")).toMatchObject({ reason, message });
  });

  test("a list beside which the rate limit stays is seen to be removed as well", () => {
    const limited = inForce.withSpec({ network: LIMIT }).reconciled().capiConverged();
    expect(nextPolicyOf(limited.with(actedOn(listOf(sent))))?.status).toBe("False");
    expect(nextPolicyOf(limited.with(actedOn()))?.status).toBe("True");
  });

  test("so are those that the infrastructure may have ignored", () => {
    const requested = sent.with(ignorable).reconciled();
    expect(policyOf(requested)).toMatchObject({ status: "Unknown", reason: "RequestedOnly" });
    const none = requested.withSpec({ network: {} }).reconciled().reconciled().capiConverged();
    expect(nextPolicyOf(none)).toMatchObject({ status: "False", reason: "Provisioning" });
    expect(nextPolicyOf(none.with(actedOn()))?.status).toBe("True");
  });

  test("the status is corrected first as well of a cluster that was never ready, though nothing was said of them", () => {
    const starting = aCluster({ network: LIST }).reconciled().reconciled();
    expect(policyOf(starting)).toMatchObject({ status: "Unknown" });
    const taken = starting.withSpec({ network: {} });
    expect(taken.plan().write).toEqual([]);
    const corrected = taken.reconciled();
    expect(policyOf(corrected)).toMatchObject({ status: "False", reason: "Provisioning" });
    const none = corrected.interrupted(1).capiConverged();
    expect(listOf(none)).toBeUndefined();
    expect(needsInfrastructureObject(none.observed)).toBe(true);
    expect(nextPolicyOf(none)?.status).toBe("False");
    expect(nextPolicyOf(none.with(actedOn()))?.status).toBe("True");
    const unread = none.with({ ...unreadable, probe: undefined }).reconciled();
    const unseen = unread.with({ infrastructure: undefined });
    const suspended = unseen.withSpec({ suspend: true });
    const stalled = unseen.with({ classes: new Map() });
    for (const one of [unread, ...[unseen, suspended, stalled].map((it) => it.reconciled())]) {
      expect(policyOf(one)).toMatchObject({ status: "Unknown", reason: "ProviderUnreadable" });
      expect(needsInfrastructureObject(one.observed)).toBe(true);
    }
  });

  test("nothing is read of a cluster that never had any, whatever of it changes", () => {
    const ready = aCluster().ready();
    const upgraded = ready.withSpec({ version: "1.35" });
    for (const fixture of [ready, upgraded, upgraded.reconciled()]) {
      expect(needsInfrastructureObject(fixture.observed)).toBe(false);
      expect(nextPolicyOf(fixture)?.status).toBe("True");
    }
  });
});

describe("while a cluster is deleted, of its rules is known what was", () => {
  const ready = aCluster({ network: LIST }).ready();

  test.each<[string, ClusterFixture, Status, string]>([
    ["in force", withLast(ready, "True"), "True", "Applied"],
    ["not in force", withLast(ready, "False"), "Unknown", "Deleting"],
    ["unknown", withLast(ready, "Unknown"), "Unknown", "Deleting"],
    ["of a suspended one", withLast(ready, "False").withSpec({ suspend: true }), "Unknown", "Deleting"],
    ["requested only", ready.with(ignorable).reconciled(), "Unknown", "Deleting"],
  ])("%s", (_what, fixture, status, reason) => {
    expect(nextPolicyOf(fixture.deleting())).toMatchObject({ status, reason });
  });

  test("rules that are not sent yet were requested of nobody", () => {
    const fixture = aCluster().ready().with(ignorable).withSpec({ network: LIST });
    expect(conditionOf(fixture.plan(), POLICY)).toMatchObject({ status: "False", reason: "Provisioning" });
    expect(nextPolicyOf(fixture.reconciled())).toMatchObject({ status: "Unknown", reason: "RequestedOnly" });
  });
});

test.each<[string, (fixture: ClusterFixture) => ClusterFixture]>([
  ["scaled", (fixture) => fixture.withCapiConditions([makeCondition("RollingOut", "True")])],
  ["upgraded", (fixture) => fixture.withSpec({ version: "1.35" })],
])("a cluster that is %s meanwhile stays stalled for it", (_what, change) => {
  const waiting = aCluster().ready().with(unlimited).withSpec({ network: LIMIT });
  const plan = change(waiting).plan();
  expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason: "UnsupportedByClass" });
  expect(conditionOf(plan, "Reconciling")).toMatchObject({ status: "False", reason: "UnsupportedByClass" });
});
