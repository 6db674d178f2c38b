import { expect, test } from "vitest";
import { withAppliedHash } from "../../shared/controller/applied.ts";
import { findCondition } from "../../shared/controller/conditions.ts";
import { ANNOTATION_APPLIED } from "../../shared/crd/names.ts";
import { readCapiCluster } from "../capi/cluster-state.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { ANNOTATION_PAUSED, decideChildren } from "./children.ts";
import type { ObservedCluster } from "./observe.ts";
import { reconcileCluster } from "./reconcile.ts";
import {
  aCluster,
  aClusterPool,
  aCondition,
  aPool,
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

function conditionsOf(observed: ObservedCluster) {
  return reconcileCluster(observed, NOW).status?.conditions ?? [];
}

test("a suspended cluster is paused in Cluster API, and nothing else of it is changed", () => {
  const observed = observeSuspended({ pools: [aClusterPool({ pool: aPool({ desiredNodes: 9 }) })] });
  const plan = reconcileCluster(observed, NOW);
  expect(plan.remove).toEqual([]);
  expect(plan.apply).toMatchObject([
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
  expect([...plan.apply, ...plan.remove]).toEqual([]);
  expect(findCondition(plan.status?.conditions, "Suspended")).toMatchObject({ status: "True" });
  expect(findCondition(plan.status?.conditions, "Reconciling")).toMatchObject({
    status: "True",
    reason: "Suspended",
  });
  expect(findCondition(plan.status?.conditions, "NetworkPolicyApplied")).toMatchObject({ status: "True" });
  expect(plan.status?.message).toContain("spec.suspend");
});

test("network rules that were changed during the suspension are not reported as in force", () => {
  const before = applied(observeSuspended({ capiFacts: PAUSED }), { byUs: true });
  const network = { authorizedCIDRs: ["203.0.113.0/24"] };
  const observed = { ...before, cluster: aCluster({ suspend: true, network }) };
  expect(findCondition(conditionsOf(observed), "NetworkPolicyApplied")).toMatchObject({ status: "Unknown" });
});

test("a suspended cluster that does not exist yet is not created", () => {
  const plan = reconcileCluster(observeSuspended({ capi: undefined }), NOW);
  expect([...plan.apply, ...plan.remove]).toEqual([]);
  expect(findCondition(plan.status?.conditions, "Ready")).toMatchObject({ reason: "Suspended" });
});

test("a suspended cluster that is deleted resumes in Cluster API for the deletion alone", () => {
  const pools = [aClusterPool()];
  const observed = observeSuspended({ pools });
  const living = applied(observed, { byUs: true });
  expect(reconcileCluster(living, NOW).remove).toEqual([]);
  const cluster = aCluster({ suspend: true }, DELETED);
  const plan = reconcileCluster({ ...living, cluster }, NOW);
  expect(plan.apply).toMatchObject([
    { verb: "patch", operations: [{ op: "remove" }, { op: "remove", path: "/spec/paused" }] },
  ]);
  expect(plan.remove.map(({ verb }) => verb)).toEqual(["delete", "delete"]);
  expect(findCondition(plan.status?.conditions, "Suspended")).toBeUndefined();
});

test("a resumed cluster gets what it missed after the pause has ended", () => {
  const before = applied(observeSuspended({ capiFacts: PAUSED }), { byUs: true });
  const network = { authorizedCIDRs: ["203.0.113.0/24"] };
  const plan = reconcileCluster({ ...before, cluster: aCluster({ network }) }, NOW);
  expect(plan.apply).toMatchObject([
    {
      verb: "patch",
      operations: [{ op: "remove" }, { op: "remove", path: "/spec/paused" }],
    },
    { verb: "apply" },
  ]);
});

test("a pause that the platform's operator made by hand is not ended by a resumption", () => {
  const plan = reconcileCluster(applied(observeBlue({ capiFacts: PAUSED }), { byUs: false }), NOW);
  expect(plan.apply).toEqual([]);
  const suspended = applied(observeSuspended({ capiFacts: PAUSED }), { byUs: false });
  expect(reconcileCluster(suspended, NOW).apply).toEqual([]);
});

test("the hash of what was applied does not depend on a suspension", () => {
  const decide = (observed: ObservedCluster) => {
    const decision = decideChildren(observed, undefined, CLUSTER_ID, NOW);
    return decision.ok ? withAppliedHash(decision.capiCluster, ANNOTATION_APPLIED) : undefined;
  };
  expect(decide(observeSuspended())).toEqual(decide(observeBlue()));
});
