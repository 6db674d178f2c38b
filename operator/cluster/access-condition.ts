import { isDeepStrictEqual } from "node:util";
import { findCondition } from "../../shared/controller/conditions.ts";
import { earliest, remainingMs } from "../../shared/controller/time.ts";
import type { ForeignAdmins } from "../../shared/crd/cluster.ts";
import { BINDINGS_FAILED, type FaultOfTenant, TENANT_UNAVAILABLE } from "../cluster-access/status.ts";
import { displayNameOf, isDeleting } from "../identity/identity.ts";
import type { AttemptOutcome } from "../tenant/access-health.ts";
import { type ClusterCondition, clusterCondition } from "./conditions.ts";
import { ADVICE } from "./messages.ts";
import type { ObservedCluster } from "./observe.ts";

/** A failure that ends earlier is not reported: the API server of a tenant has just started, or is being replaced. */
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
  const count = (fault: FaultOfTenant) => access.faults.filter((one) => one === fault).length;
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

/** A process that has just started has not tried them: the last word stands. */
const KEPT_UNTIL_TRIED = new Set(["CredentialsFailed", "BindingsFailed", "TenantAPIUnreachable"]);

function findReported(outcome: AttemptOutcome | undefined, now: Date): AttemptOutcome["failure"] {
  const { failure } = outcome ?? {};
  if (failure === undefined) return undefined;
  const waitMs = remainingMs(failure.since.toISOString(), REPORTED_AFTER_MS, now);
  return waitMs === undefined ? failure : undefined;
}
