import { isDeepStrictEqual } from "node:util";
import { findCondition, type Problem } from "../../shared/controller/conditions.ts";
import { type ForeignAdmins, registrationParts } from "../../shared/crd/cluster.ts";
import { earliest, remainingMs } from "../../shared/program/time.ts";
import type { AddOnState } from "../add-ons/observe.ts";
import { BINDINGS_FAILED, TENANT_UNAVAILABLE, type TenantFailure } from "../cluster-access/status.ts";
import { displayNameOf, isDeleting } from "../identity/identity.ts";
import type { AttemptOutcome } from "../tenant/tenant-findings.ts";
import { ADVICE, type ClusterCondition, clusterCondition } from "./conditions.ts";
import type { ObservedCluster } from "./observe.ts";

/** A failure that ends earlier is not reported: the tenant's kube-apiserver has just started, or is being replaced. */
const REPORTED_AFTER_MS = 10_000;

/** Why kubeconfigs of the cluster cannot be issued, or bound in its API; undefined = they are, or it is too early. */
export function decideAccess(observed: ObservedCluster, now: Date): ClusterCondition | undefined {
  const type = "AccessReady";
  const { cluster, capi, access } = observed;
  const name = displayNameOf(cluster);
  if (isDeleting(cluster) || capi?.state.controlPlaneInitialized !== true) return undefined;
  const { kubeconfig, bindings } = access.attempts;
  // The cause is one of the platform, which its log names.
  if (findReported(kubeconfig, now) !== undefined) {
    const message = `The admin kubeconfig of ${name} cannot be issued. ${ADVICE}`;
    return clusterCondition(type, "False", "CredentialsFailed", message);
  }
  const notBound = findReported(bindings, now);
  if (notBound !== undefined) {
    const cause = notBound.isUnreachable ? "TenantAPIUnreachable" : "BindingsFailed";
    const message = `The rights of kubeconfigs cannot be set in ${name}: ${notBound.message}. ${ADVICE}`;
    return clusterCondition(type, "False", cause, message);
  }
  const last = findCondition(cluster.status?.conditions, type);
  const isUntried = bindings === undefined || kubeconfig === undefined;
  if (isUntried && last?.status === "False" && KEPT_UNTIL_TRIED.has(last.reason)) {
    return clusterCondition(type, last.status, last.reason, last.message);
  }
  const count = (failure: TenantFailure) => access.failures.filter((one) => one === failure).length;
  if (count(TENANT_UNAVAILABLE) > 0) {
    const message = `Requests for kubeconfigs that wait because the API server of ${name} does not respond: ${count(TENANT_UNAVAILABLE)}. ${ADVICE}`;
    return clusterCondition(type, "False", "TenantAPIUnreachable", message);
  }
  if (count(BINDINGS_FAILED) > 0) {
    const message = `Kubeconfigs whose rights the API server of ${name} refuses: ${count(BINDINGS_FAILED)}. ${ADVICE}`;
    return clusterCondition(type, "False", "BindingsFailed", message);
  }
  return undefined;
}

/** Whether the credentials that `spec.registration` asks for are handed out; undefined = it asks for none. */
export function decideRegistered({ cluster, access }: ObservedCluster): ClusterCondition | undefined {
  const type = "Registered";
  const { registration } = cluster.spec;
  if (isDeleting(cluster) || !registrationParts.some((part) => registration?.[part] === true))
    return undefined;
  const notYet = {
    status: "Unknown" as const,
    reason: "Registering",
    message: "The credentials are not issued yet.",
  };
  const { registration: found } = access.tenantFindings;
  const isComplete = registrationParts.every((part) => !registration?.[part] || found?.parts.includes(part));
  // A process that has just started knows nothing yet.
  const known = found ?? findCondition(cluster.status?.conditions, type) ?? notYet;
  const isOutdated = found?.status === "True" && !isComplete;
  const { status, reason, message } = isOutdated ? notYet : known;
  return clusterCondition(type, status, reason, message);
}

/** In how many ms a failure is reported that is not yet; undefined = there is none. */
export function findAccessReportMs({ access }: ObservedCluster, now: Date): number | undefined {
  const failures = [access.attempts.kubeconfig?.failure, access.attempts.bindings?.failure];
  return earliest(
    failures.map((failure) => failure && remainingMs(failure.since.toISOString(), REPORTED_AFTER_MS, now)),
  );
}

/** What a status says of the administrators: as before while they are the same, and while they are not read. */
export function composeForeignAdmins(
  last: ForeignAdmins | undefined,
  found: ForeignAdmins | undefined,
): ForeignAdmins | undefined {
  if (found === undefined) return last;
  const isSame = last?.count === found.count && isDeepStrictEqual(last.names, found.names);
  return isSame ? last : found;
}

/** A process that has just started has not tried them: the last condition stays. */
const KEPT_UNTIL_TRIED = new Set(["CredentialsFailed", "BindingsFailed", "TenantAPIUnreachable"]);

function findReported(outcome: AttemptOutcome | undefined, now: Date): AttemptOutcome["failure"] {
  const { failure } = outcome ?? {};
  if (failure === undefined) return undefined;
  const waitMs = remainingMs(failure.since.toISOString(), REPORTED_AFTER_MS, now);
  return waitMs === undefined ? failure : undefined;
}

/** Whether the add-ons of its class, at least one, are in the cluster; undefined = it is being deleted. */
export function decideAddOns(observed: ObservedCluster): ClusterCondition | undefined {
  const type = "AddOnsApplied";
  const { cluster, addOns, capi } = observed;
  if (isDeleting(cluster)) return undefined;
  const problem = addOns
    .map((one) => findProblem(one, displayNameOf(cluster)))
    .find((one) => one !== undefined);
  if (problem !== undefined) return clusterCondition(type, "False", problem.reason, problem.message);
  const waiting = addOns
    .filter(({ state }) => state === "waiting" || state === "unknown")
    .map(({ name }) => name);
  if (waiting.length === 0)
    return clusterCondition(type, "True", "Applied", "The add-ons of the platform are applied.");
  // Before there is an API server nothing is late.
  if (capi?.state.controlPlaneInitialized !== true) {
    const message = "The add-ons of the platform are applied once the control plane is up.";
    return clusterCondition(type, "Unknown", "WaitingForControlPlane", message);
  }
  const before = findCondition(cluster.status?.conditions, type);
  // After a restart of the operator, until it has looked.
  if (before?.status === "False" && addOns.some(({ state }) => state === "unknown"))
    return clusterCondition(type, before.status, before.reason, before.message);
  const last = before?.status ?? "Unknown";
  const message = `The add-ons of the platform are being applied: ${waiting.join(", ")}.`;
  return clusterCondition(type, last === "Unknown" ? "Unknown" : "False", "WaitingForAddOns", message);
}

function findProblem({ name, state, manifests }: AddOnState, clusterName: string): Problem | undefined {
  const list = manifests.join(", ");
  if (state === "missing") {
    const message = `The add-on ${name} of the platform does not exist. Ask the platform's operator to install its ClusterResourceSet beside the class.`;
    return { reason: "AddOnNotFound", message };
  }
  if (state === "without-manifests") {
    const message = `The add-on ${name} of the platform lacks manifests: ${list}. Ask the platform's operator to install them beside the class, with the label of add-ons.`;
    return { reason: "AddOnNotFound", message };
  }
  if (state === "foreign") {
    const message = `The add-on ${name} of the platform is not installed, because there is another ${list}. Ask the platform's operator to remove or rename that.`;
    return { reason: "AddOnNotFound", message };
  }
  if (state !== "failed") return undefined;
  const message = `The add-on ${name} of the platform cannot be applied to ${clusterName}: ${list}. Cluster API tries again; if this lasts, ask the platform's operator for the condition of its ClusterResourceSet.`;
  return { reason: "AddOnsFailed", message };
}
