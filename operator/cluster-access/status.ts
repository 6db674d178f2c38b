import { isDeepStrictEqual } from "node:util";
import {
  findCondition,
  type NewCondition,
  NOT_STALLED,
  setConditions,
  withOwnConditions,
} from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import {
  type ClusterAccess,
  type ClusterAccessConditionType,
  type ClusterAccessStatus,
  clusterAccessConditionTypes,
} from "../../shared/crd/cluster-access.ts";
import { truncateConditionMessage } from "../../shared/crd/conditions.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { formatTime } from "../../shared/program/time.ts";
import { displayNameOf } from "../identity/identity.ts";
import { NotAdmittedError } from "../tenant/admission.ts";
import { RequestError } from "../tenant/sign.ts";
import type { AccessPart } from "../tenant/tenant-findings.ts";
import type { IssuedAccess } from "./issue.ts";

export const TENANT_UNAVAILABLE = "ControlPlaneUnavailable";

export const BINDINGS_FAILED = "BindingsFailed";

const TENANT_FAILURES = [TENANT_UNAVAILABLE, BINDINGS_FAILED] as const;
export type TenantFailure = (typeof TENANT_FAILURES)[number];

/** Why the last attempt at an access failed, when it is the tenant's API server: it did not respond, or refused its rights. */
export function findTenantFailure({ metadata, status }: ClusterAccess): TenantFailure | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const reason = findCondition(status?.conditions, "Ready")?.reason;
  return TENANT_FAILURES.find((failure) => failure === reason);
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
  const cause = { reason: outcome.reason, message: truncateConditionMessage(outcome.message) };
  const isWaiting = outcome.kind === "waiting";
  return [
    { type: "Ready", status: "False", ...cause },
    { type: "Reconciling", status: isWaiting ? "True" : "False", ...cause },
    isWaiting ? NOT_STALLED : { type: "Stalled", status: "True", ...cause },
  ];
}

/**
 * How the status reports that an attempt at one part of an access failed. Only a request that must not be signed is final,
 * anything else is tried again. Undefined for an attempt that was aborted, which says nothing about the access.
 */
export function composeFailure(
  { access, cluster }: { access: ClusterAccess; cluster: Cluster },
  part: AccessPart,
  error: unknown,
): AccessOutcome | undefined {
  const name = displayNameOf(cluster);
  if (error instanceof RequestError) {
    const message = `${error.message} Create another access with a new request.`;
    return { kind: "rejected", reason: "InvalidRequest", message };
  }
  if (error instanceof NotAdmittedError) {
    const message = `The API server of ${name} does not admit ${access.spec.subject} yet. It is asked again automatically.`;
    return { kind: "waiting", reason: "NotAdmitted", message };
  }
  if (error instanceof KubeError && error.isAborted) return undefined;
  if (error instanceof KubeError && error.isUnavailable) {
    const message = `The API server of ${name} does not respond: ${error.kubeMessage}. It is retried automatically.`;
    return { kind: "waiting", reason: TENANT_UNAVAILABLE, message };
  }
  if (part === "bindings" && error instanceof KubeError) {
    const message = `The rights of this access cannot be changed in ${name}: ${error.kubeMessage}. It is retried automatically.`;
    return { kind: "waiting", reason: BINDINGS_FAILED, message };
  }
  // The cause may be one of the platform, which its log names.
  const message = `The access to ${name} cannot be issued. It is retried automatically; if this lasts, ask the platform's operator.`;
  return { kind: "waiting", reason: "CredentialsFailed", message };
}
