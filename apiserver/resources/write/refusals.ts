import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { withWireNames } from "../../../shared/crd/rest-words.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import { ApiError, type DetailCode, type ErrorDetail, validationFailed } from "../../http/errors.ts";

/**
 * 409 conflict for a create that the next request may carry out: another object has the name that `createObjectName` gave, or
 * other creates kept kube-apiserver three times from counting this one for a ResourceQuota. Undefined for another error.
 */
export function createConflict(name: string, cause: KubeError): ApiError | undefined {
  if (!cause.isAlreadyExists && !cause.isConflict) return undefined;
  const reason = cause.isAlreadyExists
    ? `The object name ${name} is taken`
    : "Other objects of the organization are being created";
  return new ApiError("conflict", `${reason}; try again.`, { retryAfterSeconds: 1, cause });
}

/**
 * The error for the client when the Kubernetes API refuses an object as invalid: 422 with a detail per field that
 * REST knows; or because the Namespace holds as many as it may: 422 quota_exceeded. `wireNames` maps paths inside `spec` to
 * wire names. Any other error is returned unchanged.
 */
export function toRefusal(error: unknown, wireNames: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof KubeError)) return error;
  if (error.isQuotaExceeded) return objectQuotaExceeded(error);
  if (!error.isInvalid) return error;
  const details = (error.details?.causes ?? []).map(({ field = "", reason, message = "" }): ErrorDetail => {
    const path = field.replace(/^spec\.?/, "").replaceAll(/\[.*/g, "");
    return { field: wireNames[path] ?? "body", code: codeOf(reason), message: withWireNames(message) };
  });
  const [first, ...others] = details;
  if (first !== undefined) return validationFailed([first, ...others]);
  return validationFailed([{ field: "body", code: "invalid_format", message: error.kubeMessage }]);
}

/** The ResourceQuota of a Namespace also counts objects that wait for a quota of the organization or are being deleted. */
function objectQuotaExceeded(cause: KubeError): ApiError {
  const isPool = cause.details?.kind === nodePoolKind.plural;
  const [noun, field] = isPool ? ["node pools", "node_pools"] : ["clusters", "clusters"];
  return new ApiError(
    "quota_exceeded",
    `The organization has as many ${noun} as it may, those that wait for a quota and those that are being deleted included. Delete unused ones, or ask the platform's operator for a higher quota.`,
    {
      details: [{ field, code: "out_of_range", message: `there are as many ${noun} as there may be` }],
      cause,
    },
  );
}

function codeOf(reason: string | undefined): DetailCode {
  return reason === "FieldValueForbidden" ? "immutable" : "invalid_format";
}
