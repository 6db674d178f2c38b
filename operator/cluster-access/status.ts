import { isDeepStrictEqual } from "node:util";
import {
  findCondition,
  type NewCondition,
  setConditions,
  withOwnConditions,
} from "../../shared/controller/conditions.ts";
import { formatTime } from "../../shared/controller/time.ts";
import {
  type ClusterAccess,
  type ClusterAccessConditionType,
  type ClusterAccessStatus,
  clusterAccessConditionTypes,
} from "../../shared/crd/cluster-access.ts";
import { clipConditionMessage } from "../../shared/crd/conditions.ts";
import type { IssuedAccess } from "./issue.ts";

const NOT_STALLED = {
  type: "Stalled",
  status: "False",
  reason: "NotStalled",
  message: "No blocking problem.",
} as const;

export const TENANT_UNAVAILABLE = "ControlPlaneUnavailable";

export const BINDINGS_FAILED = "BindingsFailed";

const FAULTS_OF_TENANT = [TENANT_UNAVAILABLE, BINDINGS_FAILED] as const;
export type FaultOfTenant = (typeof FAULTS_OF_TENANT)[number];

/** Why the last attempt at an access failed, when it is the tenant's API server: it did not respond, or refused its rights. */
export function findFaultOfTenant({ metadata, status }: ClusterAccess): FaultOfTenant | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const reason = findCondition(status?.conditions, "Ready")?.reason;
  return FAULTS_OF_TENANT.find((fault) => fault === reason);
}

/** The result of a reconcile. */
export type AccessOutcome =
  | ({ kind: "granted"; expiresAt: Date } & IssuedAccess)
  | { kind: "waiting"; reason: string; message: string }
  | { kind: "rejected"; reason: string; message: string };

/** What the operator writes of a status: the conditions of other controllers are no part of it. */
export function ownAccessStatus(status: ClusterAccessStatus | undefined): ClusterAccessStatus | undefined {
  return status && withOwnConditions(status, clusterAccessConditionTypes);
}

/** The whole status of an access; undefined when it did not change. What was issued stays in it. */
export function composeAccessStatus(
  access: ClusterAccess,
  outcome: AccessOutcome,
  now: Date,
): ClusterAccessStatus | undefined {
  const last = access.status;
  const generation = access.metadata.generation ?? 0;
  const issued =
    outcome.kind === "granted"
      ? {
          ...("certificate" in outcome
            ? { certificate: outcome.certificate }
            : { tokenSecretName: outcome.tokenSecretName }),
          expiresAt: formatTime(outcome.expiresAt),
        }
      : {
          ...(last?.certificate !== undefined && { certificate: last.certificate }),
          ...(last?.tokenSecretName !== undefined && { tokenSecretName: last.tokenSecretName }),
          ...(last?.expiresAt !== undefined && { expiresAt: last.expiresAt }),
        };
  const conditions = setConditions<ClusterAccessConditionType>(
    last?.conditions ?? [],
    decideConditions(outcome),
    now,
    generation,
  );
  const status = { observedGeneration: generation, conditions, ...issued };
  return isDeepStrictEqual(status, ownAccessStatus(last)) ? undefined : status;
}

function decideConditions(outcome: AccessOutcome): NewCondition<ClusterAccessConditionType>[] {
  if (outcome.kind === "granted") {
    const what = "certificate" in outcome ? "certificate" : "token";
    const message = `The ${what} is issued and its binding exists.`;
    return [
      { type: "Ready", status: "True", reason: "Issued", message },
      { type: "Reconciling", status: "False", reason: "ReconciliationSucceeded", message },
      NOT_STALLED,
    ];
  }
  const cause = { reason: outcome.reason, message: clipConditionMessage(outcome.message) };
  const isWaiting = outcome.kind === "waiting";
  return [
    { type: "Ready", status: "False", ...cause },
    { type: "Reconciling", status: isWaiting ? "True" : "False", ...cause },
    isWaiting ? NOT_STALLED : { type: "Stalled", status: "True", ...cause },
  ];
}
