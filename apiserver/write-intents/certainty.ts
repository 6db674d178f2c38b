import { KubeError, wasNeverSent } from "../../shared/kube/errors.ts";

/** Whether a failed write certainly changed nothing: it was rejected, or it was never sent. */
export function isCertainlyNotWritten(error: unknown): boolean {
  return error instanceof KubeError && (error.status !== 0 || wasNeverSent(error));
}
