import { isApplied } from "../../shared/controller/applied.ts";
import { type Fault, heldForMs } from "../../shared/controller/conditions.ts";
import { earliest } from "../../shared/controller/earliest.ts";
import type { Plan, Step } from "../../shared/controller/plan.ts";
import type { ClusterStatus } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { explainRefusal } from "../engine/explain.ts";
import { engineClusterKind, findEngineCondition } from "../engine/kinds.ts";
import { removePoolEntry } from "../engine/topology.ts";
import { findIdentityFault, findMissingMetadata, hasFinalizer } from "../identity.ts";
import { releaseSubnet, takeSubnet } from "../subnets/lock.ts";
import { type Decision, decideChildren, isOurs } from "./children.ts";
import { composeForeignPoolEvent, composePhaseEvents } from "./events.ts";
import { findClusterIntakeWait, findPoolIntakeWait } from "./intake.ts";
import type { ObservedCluster } from "./observe.ts";
import { findPoolWait } from "./pool-wait.ts";
import { changedStatus, composeClusterStatus, type StatusInput } from "./status.ts";

/** A late refusal may be a hiccup of the engine; it counts when it has stood this long. */
const REFUSAL_STANDS_MS = 15_000;
/** What the engine refused is tried again now and then: its reason may have gone without a sign. */
const RETRY_REFUSED_MS = 60_000;

type ClusterPlan = Plan<ClusterStatus>;

/** What to do for one cluster, from what was observed alone. Running it on its own result plans nothing. */
export function reconcileCluster(observed: ObservedCluster, now: Date): ClusterPlan {
  const { metadata } = observed.cluster;
  if (metadata.deletionTimestamp !== undefined) return planDeletion(observed, now);
  const { organization } = observed;
  const fault = findIdentityFault(metadata.namespace ?? "", organization, observed.olderTwin);
  if (fault !== undefined || organization.kind !== "known") {
    return finish(observed, NO_STEPS, { observed, fault, ...NOTHING_DECIDED }, now);
  }
  const id = metadata.labels?.[LABEL_ID] ?? observed.candidateId;
  const decision = decideChildren(observed, id, now);
  const steps = decision.ok ? planSteps(observed, decision, id, now) : NO_STEPS;
  const refusal = decision.ok ? findRefusal(observed, now) : NO_REFUSAL;
  const plan = finish(
    observed,
    observed.applyFailure === undefined ? steps : NO_STEPS,
    {
      observed,
      fault: refusal.fault ?? decision.fault,
      target: decision.target,
      subnet: decision.ok ? decision.subnet : undefined,
      clusterClass: decision.ok ? decision.engineCluster.spec?.topology?.classRef.name : undefined,
      taken: decision.ok && isTaken(observed, steps) && refusal.fault === undefined,
    },
    now,
  );
  const foreign = plan.remove.length > 0 ? steps.foreignPool : undefined;
  return {
    ...plan,
    events:
      foreign === undefined ? plan.events : [...plan.events, composeForeignPoolEvent(observed, foreign)],
    metadata: findMissingMetadata(metadata, organization.id, observed.candidateId),
    requeueAfterMs: earliest([
      plan.requeueAfterMs,
      refusal.requeueAfterMs,
      steps.waitMs,
      ...observed.pools.map((pool) => findPoolIntakeWait(observed, pool, now)),
    ]),
  };
}

interface Steps {
  apply: Step[];
  remove: Step[];
  /** A pool of somebody else that `remove` takes out of the topology. */
  foreignPool?: string;
  /** For how long the engine is not told yet. */
  waitMs?: number;
}

const NO_STEPS: Steps = { apply: [], remove: [] };
const NO_REFUSAL: Refusal = { fault: undefined, requeueAfterMs: undefined };
const NOTHING_DECIDED = { target: undefined, subnet: undefined, clusterClass: undefined, taken: false };

/** Whether the engine has acted on its object as it stands, and that is what is wanted. */
function isTaken({ engine }: ObservedCluster, steps: Steps): boolean {
  return steps.apply.length === 0 && steps.waitMs === undefined && engine?.state.observed === true;
}

/** The lock of the subnet first: no engine object may exist before its network is certain. */
function planSteps(
  observed: ObservedCluster,
  decision: Decision & { ok: true },
  id: string,
  now: Date,
): Steps {
  const { engine, locks, settings } = observed;
  const wanted = decision.engineCluster;
  const lock = locks.own === undefined ? [takeSubnet(settings.platformNamespace, decision.subnet, id)] : [];
  if (engine?.state.deleting) return { apply: lock, remove: [] };
  const ours = new Set(wanted.spec?.topology?.workers?.machineDeployments?.map((pool) => pool.name));
  const waitMs = findPoolWait(observed, ours, now);
  if (waitMs !== undefined) return { apply: lock, remove: [], waitMs };
  if (!isApplied(wanted, engine?.object)) {
    return { apply: [...lock, { verb: "apply", kind: engineClusterKind, object: wanted }], remove: [] };
  }
  const foreign = engine?.state.poolNames.find((name) => !ours.has(name));
  const object = engine?.object;
  if (foreign === undefined || object === undefined) return { apply: lock, remove: [] };
  return { apply: lock, remove: [removePoolEntry(object, foreign)], foreignPool: foreign };
}

interface Refusal {
  fault: Fault | undefined;
  requeueAfterMs: number | undefined;
}

/** What the engine refused, at once or after the apply, in its own words. */
function findRefusal(observed: ObservedCluster, now: Date): Refusal {
  const { applyFailure, upgradeRefusal, engine } = observed;
  if (applyFailure?.kind === "refused") {
    return { fault: composeRefusal(applyFailure.message), requeueAfterMs: RETRY_REFUSED_MS };
  }
  if (upgradeRefusal !== undefined) {
    const fault = MUST_WAIT.test(upgradeRefusal) ? undefined : composeRefusal(upgradeRefusal);
    return { fault, requeueAfterMs: RETRY_REFUSED_MS };
  }
  const late = engine?.state.lateRefusal;
  if (late === undefined) return NO_REFUSAL;
  const stoodMs = heldForMs(findEngineCondition(engine?.object, "TopologyReconciled"), now);
  if (stoodMs < REFUSAL_STANDS_MS) {
    return { fault: undefined, requeueAfterMs: REFUSAL_STANDS_MS - stoodMs };
  }
  return { fault: composeRefusal(late), requeueAfterMs: undefined };
}

/** The engine's way to say that the last rollout has not ended. */
const MUST_WAIT = /version cannot be changed/;

function composeRefusal(words: string): Fault {
  if (/exceeded quota/.test(words)) {
    const message = `A quota of the platform stands in the way: ${explainRefusal(words)}. Delete what is not needed, or ask the platform's operator for more.`;
    return { reason: "QuotaExceeded", message };
  }
  const message = `The engine does not accept the cluster as it is wanted: ${explainRefusal(words)}. Change the specification, or ask the platform's operator.`;
  return { reason: "RefusedByEngine", message };
}

/**
 * The engine removes workers, control plane and infrastructure in this order by itself. The finalizer goes when the
 * engine's object and our pools are seen gone; the subnet is free again then.
 */
function planDeletion(observed: ObservedCluster, now: Date): ClusterPlan {
  const { cluster, engine, locks, settings } = observed;
  if (!hasFinalizer(cluster.metadata)) return finish(observed, NO_STEPS, undefined, now);
  const remove: Step[] = observed.pools
    .filter(({ pool }) => pool.metadata.deletionTimestamp === undefined)
    .map(({ pool }) => ({
      verb: "delete",
      kind: nodePoolKind,
      namespace: pool.metadata.namespace ?? "",
      name: pool.metadata.name,
      uid: pool.metadata.uid,
    }));
  const waitMs = findClusterIntakeWait(observed, now);
  if (engine !== undefined && !engine.state.deleting && isOurs(observed) && waitMs === undefined) {
    const { namespace = "", name, uid } = engine.object.metadata;
    remove.push({ verb: "delete", kind: engineClusterKind, namespace, name, uid });
  }
  const gone = (engine === undefined || !isOurs(observed)) && observed.pools.length === 0;
  // The subnet of a cluster with an older twin is the twin's.
  const release = gone && observed.olderTwin === undefined;
  if (release && locks.own !== undefined) remove.push(releaseSubnet(settings.platformNamespace, locks.own));
  if (gone) return { ...finish(observed, { apply: [], remove }, undefined, now), releaseFinalizer: true };
  const input: StatusInput = { observed, fault: undefined, ...NOTHING_DECIDED };
  const plan = finish(observed, { apply: [], remove: observed.applyFailure ? [] : remove }, input, now);
  return { ...plan, requeueAfterMs: earliest([plan.requeueAfterMs, waitMs]) };
}

function finish(
  observed: ObservedCluster,
  steps: Steps,
  input: StatusInput | undefined,
  now: Date,
): ClusterPlan {
  const { apply, remove } = steps;
  const plan = { metadata: undefined, apply, remove, events: [], releaseFinalizer: false };
  if (input === undefined) return { ...plan, status: undefined, requeueAfterMs: undefined };
  const { status, requeueAfterMs } = composeClusterStatus(input, now);
  const changed = changedStatus(observed.cluster.status, status);
  const events = changed === undefined ? [] : composePhaseEvents(observed, changed);
  return { ...plan, status: changed, events, requeueAfterMs };
}
