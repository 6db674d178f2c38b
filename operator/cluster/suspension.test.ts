import { describe, expect, test } from "vitest";
import { withAppliedHash } from "../../shared/controller/applied.ts";
import { findCondition } from "../../shared/controller/conditions.ts";
import { ANNOTATION_APPLIED } from "../../shared/crd/names.ts";
import { readCapiCluster, readVariable } from "../capi/cluster-state.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { aCluster as aNewCluster, type ClusterFixture } from "../testing-cluster.ts";
import { ANNOTATION_PAUSED, decideChildren } from "./children.ts";
import { needsInfrastructureObject } from "./networks.ts";
import type { ObservedCluster } from "./observe.ts";
import { reconcileCluster } from "./reconcile.ts";
import {
  aCluster,
  aClusterPool,
  aCondition,
  aPool,
  type CAPABLE,
  type CapiFacts,
  CLUSTER_ID,
  NOW,
  observeBlue,
  secondsAgo,
} from "./testing.ts";

const PAUSED: CapiFacts = { conditions: [aCondition("Paused", "True")] };
const DELETED = { metadata: { ...aCluster().metadata, deletionTimestamp: secondsAgo(10) } };

function observeSuspended(rest: Parameters<typeof observeBlue>[0] = {}): ObservedCluster {
  return observeBlue({ cluster: aCluster({ suspend: true }), ...rest });
}

function withCapi(observed: ObservedCluster, object: CapiCluster): ObservedCluster {
  return { ...observed, capi: { object, state: readCapiCluster(object) } };
}

/** `observed` after the decided Cluster API Cluster was applied, paused as `paused` says. */
function applied(observed: ObservedCluster, paused?: { byUs: boolean }): ObservedCluster {
  const decision = decideChildren(observed, undefined, CLUSTER_ID, NOW);
  if (!decision.ok || observed.capi === undefined) throw new Error("nothing was decided");
  const { capiCluster } = decision;
  const { object } = observed.capi;
  const annotations = {
    ...capiCluster.metadata.annotations,
    ...(paused?.byUs && { [ANNOTATION_PAUSED]: "true" }),
  };
  const spec = { ...object.spec, ...capiCluster.spec, ...(paused && { paused: true }) };
  return withCapi(observed, {
    ...object,
    metadata: { ...object.metadata, ...capiCluster.metadata, annotations },
    spec,
  });
}

test("a suspended cluster is paused in Cluster API, and nothing else of it is changed", () => {
  const observed = observeSuspended({ pools: [aClusterPool({ pool: aPool({ desiredNodes: 9 }) })] });
  const plan = reconcileCluster(observed, NOW);
  expect(plan.remove).toEqual([]);
  expect(plan.write).toMatchObject([
    {
      verb: "patch",
      name: "blue",
      operations: [
        { op: "add", path: "/metadata/annotations" },
        { op: "add", path: "/spec/paused", value: true },
      ],
    },
  ]);
  expect(findCondition(plan.status?.conditions, "Suspended")).toMatchObject({
    status: "False",
    reason: "Suspending",
  });
});

test("once Cluster API has confirmed the pause, no step is left and the status says so at once", () => {
  const observed = applied(observeSuspended({ capiFacts: PAUSED }), { byUs: true });
  const plan = reconcileCluster(observed, NOW);
  expect([...plan.write, ...plan.remove]).toEqual([]);
  expect(findCondition(plan.status?.conditions, "Suspended")).toMatchObject({ status: "True" });
  expect(findCondition(plan.status?.conditions, "Reconciling")).toMatchObject({
    status: "True",
    reason: "Suspended",
  });
  expect(findCondition(plan.status?.conditions, "NetworkPolicyApplied")).toMatchObject({ status: "True" });
  expect(plan.status?.message).toContain("spec.suspend");
});

describe("the network rules of a suspended cluster, which keeps what is in force", () => {
  const LIST = { authorizedCIDRs: ["198.51.100.0/24"] };
  const OTHER = { authorizedCIDRs: ["203.0.113.0/24"] };
  const LIMIT = { apiServerRateLimit: { maxConnectionsPerSecond: 5, burst: 10 } };
  const OTHER_LIMIT = { apiServerRateLimit: { maxConnectionsPerSecond: 9, burst: 10 } };
  const listOf = (fixture: ClusterFixture) =>
    (readVariable(fixture.capiObject(), "authorizedCIDRs") ?? []) as string[];
  const policyOf = ({ observed: { cluster } }: ClusterFixture) =>
    findCondition(cluster.status?.conditions, "NetworkPolicyApplied");
  /** The provider's object has these networks, and is settled. */
  const withProvider = (fixture: ClusterFixture, list: string[]) =>
    fixture.with({ infrastructure: { hasActed: true, lists: [new Set(list)] } });
  const unreadable = (fixture: ClusterFixture) =>
    fixture.with({ infrastructure: { hasActed: undefined, lists: [], unreadable: "example.com" } });
  const unread = (fixture: ClusterFixture) => fixture.with({ infrastructure: undefined });
  const sent = (network: object) => aNewCluster().ready().withSpec({ network }).reconciled().capiConverged();
  const inForce = (network: object) => withProvider(sent(network), listOf(sent(network))).reconciled();

  /** Cluster API is paused, which is another generation of its object, and has not observed that. */
  function suspend(fixture: ClusterFixture, change: Partial<ObservedCluster> = {}): ClusterFixture {
    const { metadata, spec, ...object } = fixture.capiObject();
    const paused = { ...object, metadata: { ...metadata, generation: 3 }, spec: { ...spec, paused: true } };
    return fixture
      .withSpec({ suspend: true })
      .withCapi(paused)
      .withCapiConditions([aCondition("Paused", "True")])
      .with(change)
      .reconciled();
  }

  const waitingPool = { pools: [aClusterPool({ machineDeployment: undefined, machines: [] })] };

  test.each<[string, ClusterFixture, string, string]>([
    ["the list that it has are in force", suspend(inForce(LIST)), "True", "Applied"],
    [
      "so are they where the provider's object cannot be read",
      suspend(unreadable(inForce(LIST))),
      "True",
      "Applied",
    ],
    ["the rate limit that it has is in force", suspend(inForce(LIMIT)), "True", "Applied"],
    [
      "so is it where the provider's object cannot be read",
      suspend(unread(inForce(LIMIT))),
      "True",
      "Applied",
    ],
    ["a list is in force beside a pool that waits", suspend(inForce(LIST), waitingPool), "True", "Applied"],
    ["without any there is nothing to enforce", suspend(aNewCluster().ready()), "True", "Applied"],
    ["a list that the provider has not", suspend(withProvider(sent(LIST), [])), "Unknown", "Suspended"],
    ["a list of which nothing was seen", suspend(unread(sent(LIST))), "Unknown", "Suspended"],
    ["a rate limit of which nothing was seen", suspend(unread(sent(LIMIT))), "Unknown", "Suspended"],
    ["a list that cannot be read", suspend(unreadable(sent(LIST))), "Unknown", "ProviderUnreadable"],
  ])("%s", (_what, fixture, status, reason) => {
    expect(policyOf(fixture)).toMatchObject({ status, reason });
  });

  test.each<[string, object, object]>([
    ["another list", LIST, OTHER],
    ["no list any more", LIST, {}],
    ["a list for the first time", {}, LIST],
    ["another rate limit", LIMIT, OTHER_LIMIT],
    ["a rate limit beside the list", LIST, { ...LIST, ...LIMIT }],
  ])(
    "%s: it waits for the resumption and is not in force, and what was is again once it is as before",
    (_what, before, network) => {
      const suspended = suspend(inForce(before));
      const changed = suspended.withSpec({ network }).reconciled();
      expect(changed.plan().write).toEqual([]);
      expect(policyOf(changed)).toMatchObject({ status: "False", reason: "Suspended" });
      expect(policyOf(changed)?.message).toMatch(/the previous rules stay in force\. Remove spec\.suspend/);
      const back = changed.withSpec({ network: before }).reconciled();
      expect(policyOf(back)?.status).toBe("apiServerRateLimit" in before ? "Unknown" : "True");
    },
  );

  test("rules that the infrastructure may ignore wait as well, and were not requested", () => {
    const name = "marina-system/standard-v1";
    const suspended = suspend(inForce(LIST));
    const ignoring = { ...suspended.observed.classes.get(name), mayIgnoreAuthorizedCIDRs: true };
    const classes = new Map([[name, ignoring as typeof CAPABLE]]);
    const changed = suspended.with({ classes }).withSpec({ network: OTHER }).reconciled();
    expect(policyOf(changed)).toMatchObject({ status: "False", reason: "Suspended" });
  });

  test("a list of which nothing was seen is looked at while the suspension lasts", () => {
    const suspended = suspend(unread(sent(LIST)));
    expect(needsInfrastructureObject(suspended.observed)).toBe(true);
    expect(suspended.after(60).plan().requeueAfterMs).toBe(60_000);
    const seen = withProvider(suspended, listOf(suspended)).reconciled();
    expect(policyOf(seen)?.status).toBe("True");
    expect(needsInfrastructureObject(seen.observed)).toBe(false);
  });
});

test("a suspended cluster that does not exist yet is not created", () => {
  const plan = reconcileCluster(observeSuspended({ capi: undefined }), NOW);
  expect([...plan.write, ...plan.remove]).toEqual([]);
  for (const type of ["Ready", "ControlPlaneReady"] as const)
    expect(findCondition(plan.status?.conditions, type)).toMatchObject({ reason: "Suspended" });
});

test("a suspended cluster that is deleted resumes in Cluster API for the deletion alone", () => {
  const pools = [aClusterPool()];
  const observed = observeSuspended({ pools });
  const living = applied(observed, { byUs: true });
  expect(reconcileCluster(living, NOW).remove).toEqual([]);
  const cluster = aCluster({ suspend: true }, DELETED);
  const plan = reconcileCluster({ ...living, cluster }, NOW);
  expect(plan.write).toMatchObject([
    { verb: "patch", operations: [{ op: "remove" }, { op: "remove", path: "/spec/paused" }] },
  ]);
  expect(plan.remove.map(({ verb }) => verb)).toEqual(["delete", "delete"]);
  expect(findCondition(plan.status?.conditions, "Suspended")).toBeUndefined();
});

test("a resumed cluster gets what it missed after the pause has ended", () => {
  const before = applied(observeSuspended({ capiFacts: PAUSED }), { byUs: true });
  const network = { authorizedCIDRs: ["203.0.113.0/24"] };
  const plan = reconcileCluster({ ...before, cluster: aCluster({ network }) }, NOW);
  expect(plan.write).toMatchObject([
    {
      verb: "patch",
      operations: [{ op: "remove" }, { op: "remove", path: "/spec/paused" }],
    },
    { verb: "apply" },
  ]);
});

test("a pause that the platform's operator made by hand is not ended by a resumption", () => {
  const plan = reconcileCluster(applied(observeBlue({ capiFacts: PAUSED }), { byUs: false }), NOW);
  expect(plan.write).toEqual([]);
  const suspended = applied(observeSuspended({ capiFacts: PAUSED }), { byUs: false });
  expect(reconcileCluster(suspended, NOW).write).toEqual([]);
});

test("the hash of what was applied does not depend on a suspension", () => {
  const decide = (observed: ObservedCluster) => {
    const decision = decideChildren(observed, undefined, CLUSTER_ID, NOW);
    return decision.ok ? withAppliedHash(decision.capiCluster, ANNOTATION_APPLIED) : undefined;
  };
  expect(decide(observeSuspended())).toEqual(decide(observeBlue()));
});
