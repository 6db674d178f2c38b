import { KubeError, wasNeverSent } from "../../shared/kube/errors.ts";
import { type DetailCode, type ErrorDetail, validationFailed } from "../http/errors.ts";

/** Whether a failed write certainly changed nothing: it was refused, or it was never sent. */
export function isNotApplied(error: unknown): boolean {
  return error instanceof KubeError && (error.status !== 0 || wasNeverSent(error));
}

/**
 * The error for the client when the Kubernetes API refuses an object as invalid: 422 with a detail per field that
 * REST knows. `wireNames` maps paths inside `spec` to wire names. Any other error is returned unchanged.
 */
export function toRefusal(error: unknown, wireNames: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof KubeError) || !error.isInvalid) return error;
  const details = (error.details?.causes ?? []).map(({ field = "", reason, message = "" }): ErrorDetail => {
    const path = field.replace(/^spec\.?/, "").replaceAll(/\[.*/g, "");
    return { field: wireNames[path] ?? "body", code: codeOf(reason), message };
  });
  const [first, ...others] = details;
  if (first !== undefined) return validationFailed([first, ...others]);
  return validationFailed([{ field: "body", code: "invalid_format", message: error.kubeMessage }]);
}

function codeOf(reason: string | undefined): DetailCode {
  return reason === "FieldValueForbidden" ? "immutable" : "invalid_format";
}
