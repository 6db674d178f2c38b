import { findCondition, type Problem } from "../../shared/controller/conditions.ts";
import type { Plan, Step } from "../../shared/controller/plan.ts";
import type { ClusterStatus } from "../../shared/crd/cluster.ts";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";
import { identityStateOf } from "../../shared/crd/identity.ts";
import { ANNOTATION_RECREATE } from "../../shared/crd/names.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import { listNames } from "../../shared/program/wording.ts";
import { capiClusterKind } from "../capi/kinds.ts";
import { displayNameOf, isRecreationRequested } from "../identity/identity.ts";
import { composeCapiUidStep } from "../subnets/allocation.ts";
import type { ObservedCluster } from "./observe.ts";

/**
 * Why a cluster that was there before is not made again: it, or a part that Cluster API does not make again either, is
 * gone. It may come back, as in a restore in any order; a new one would have the same name and nothing of what ran in
 * it. Undefined = nothing is lost, or the platform's annotation to create it again is there.
 */
export function findLoss(observed: ObservedCluster): Problem | undefined {
  const isLost = wasProvisioned(observed) && !isRecreationRequested(observed.cluster);
  const lost = isLost ? describeLoss(observed) : undefined;
  if (lost === undefined) return undefined;
  const message = `${lost} ${ADVICE_BY_REASON[INFRASTRUCTURE_LOST].kubectl}`;
  return { reason: INFRASTRUCTURE_LOST, message };
}

/**
 * Why a cluster that was ready is not what it was while it is restored or created again; undefined = it is back, or
 * never left. One that was lost is back when its control plane is available and, unless its endpoint is private, that
 * answers.
 */
export function findReturnProblem(observed: ObservedCluster): Problem | undefined {
  const { status } = observed.cluster;
  if (status?.firstReadyAt === undefined) return undefined;
  const wasLost = findCondition(status.conditions, "Ready")?.reason === INFRASTRUCTURE_LOST;
  const missing = findMissing(observed, wasLost);
  if (missing === undefined) return undefined;
  const message = `The cluster ${displayNameOf(observed.cluster)} was lost, and ${missing}. If this lasts, ask the platform's operator to look at it.`;
  return { reason: INFRASTRUCTURE_LOST, message };
}

function findMissing({ cluster, capi, probe }: ObservedCluster, wasLost: boolean): string | undefined {
  if (!capi?.state.controlPlaneInitialized) return "its control plane is not back yet";
  if (!wasLost) return undefined;
  if (capi.state.controlPlaneFailure !== undefined) return "its control plane is not available yet";
  return cluster.spec.publicEndpoint && probe?.ok !== true ? "its endpoint does not answer yet" : undefined;
}

/** What is left of a cluster that lost a part is deleted, once the platform has asked for an empty one in its place. */
export function planRecreation(observed: ObservedCluster): Step | undefined {
  const { cluster, capi, lostParts } = observed;
  if (capi === undefined || lostParts.length === 0 || !isRecreationRequested(cluster)) return undefined;
  const { namespace = "", name, uid } = capi.object.metadata;
  return { verb: "delete", kind: capiClusterKind, namespace, name, uid };
}

/** The allocation of the subnet records what was made: without it a loss before the cluster was first ready looks like a creation. */
export function planCapiUidRecord({ capi, subnets, settings }: ObservedCluster): Step[] {
  const { uid } = capi?.object.metadata ?? {};
  if (uid === undefined || subnets.own === undefined || subnets.own.capiUid === uid) return [];
  return [composeCapiUidStep(settings.platformNamespace, subnets.own, uid)];
}

/** The annotation of a loss that is over: the same annotation in a later backup must not count again. */
export function findHandledRecreation(observed: ObservedCluster): string[] {
  const { cluster, capi } = observed;
  const isOver = identityStateOf(cluster) === "accepted" && capi !== undefined && !isBeingLost(observed);
  return isOver && cluster.metadata.annotations?.[ANNOTATION_RECREATE] !== undefined
    ? [ANNOTATION_RECREATE]
    : [];
}

/**
 * Whether the cluster was provisioned once: by its status, the allocation of its subnet, or the records of Marina's API server. An id that
 * is not confirmed yet does not count; for the right to a name it does (`mayOwnName`).
 */
export function wasProvisioned({ cluster, subnets }: ObservedCluster): boolean {
  return (
    identityStateOf(cluster) === "known" ||
    cluster.status?.firstReadyAt !== undefined ||
    subnets.own?.capiUid !== undefined
  );
}

function describeLoss(observed: ObservedCluster): string | undefined {
  const { capi, nameTaken, lostParts } = observed;
  if (nameTaken)
    return "The cluster was there before; now Cluster API has another one of this name, which this platform does not run.";
  if (capi === undefined) return "The cluster was there before, and Cluster API does not have it any more.";
  if (capi.state.deleting) return "Cluster API is deleting the cluster, although it was not deleted here.";
  return lostParts.length === 0
    ? undefined
    : `Of the cluster, this was there before and is lost: ${listNames(lostParts)}.`;
}

function isBeingLost({ capi, lostParts }: ObservedCluster): boolean {
  const isMissing = capi !== undefined && (capi.state.deleting || capi.state.missingParts.length > 0);
  return isMissing || lostParts.length > 0;
}

/** Whether the plan reports for the first time that infrastructure is lost: tenants receive a webhook at once. */
export function beginsLoss({ cluster }: ObservedCluster, { status }: Plan<ClusterStatus>): boolean {
  const isLost = (conditions: ClusterStatus["conditions"]) =>
    findCondition(conditions, "Ready")?.reason === INFRASTRUCTURE_LOST;
  return isLost(status?.conditions) && !isLost(cluster.status?.conditions);
}
