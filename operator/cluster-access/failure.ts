import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { AccessPart } from "../tenant/access-health.ts";
import { NotAdmittedError } from "../tenant/admission.ts";
import { RequestError } from "../tenant/sign.ts";
import { type AccessOutcome, BINDINGS_FAILED, TENANT_UNAVAILABLE } from "./status.ts";

/**
 * How the status reports that an attempt at one part of an access failed. Only a request that must not be signed is final,
 * anything else is tried again. Undefined for an attempt that was aborted, which says nothing about the access.
 */
export function composeFailure(
  { spec }: ClusterAccess,
  part: AccessPart,
  error: unknown,
): AccessOutcome | undefined {
  const { clusterName, subject } = spec;
  if (error instanceof RequestError) {
    const message = `${error.message} Create another access with a new request.`;
    return { kind: "rejected", reason: "InvalidRequest", message };
  }
  if (error instanceof NotAdmittedError) {
    const message = `The API server of ${clusterName} does not admit ${subject} yet. It is asked again automatically.`;
    return { kind: "waiting", reason: "NotAdmitted", message };
  }
  if (error instanceof KubeError && error.isAborted) return undefined;
  if (error instanceof KubeError && error.isUnavailable) {
    const message = `The API server of ${clusterName} does not respond: ${error.kubeMessage}. It is retried automatically.`;
    return { kind: "waiting", reason: TENANT_UNAVAILABLE, message };
  }
  if (part === "bindings" && error instanceof KubeError) {
    const message = `The rights of this access cannot be changed in ${clusterName}: ${error.kubeMessage}. It is retried automatically.`;
    return { kind: "waiting", reason: BINDINGS_FAILED, message };
  }
  // The cause may be one of the platform, which its log names.
  const message = `The access to ${clusterName} cannot be issued. It is retried automatically; if this lasts, ask the platform's operator.`;
  return { kind: "waiting", reason: "CredentialsFailed", message };
}
