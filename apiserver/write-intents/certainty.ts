import { KubeError } from "../../shared/kube/errors.ts";

/** Socket errors of a connection that was never there, so that nothing can have been sent over it. */
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

/** Whether a failed write has surely changed nothing: it was refused, or it never left this machine. */
export function isCertainlyNotWritten(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  if (error.status !== 0) return true;
  return NEVER_SENT.has(socketCodeOf(error.cause));
}

function socketCodeOf(cause: unknown): string {
  for (
    let current = cause, depth = 0;
    current instanceof Error && depth < 4;
    current = current.cause, depth++
  ) {
    if ("code" in current && typeof current.code === "string") return current.code;
  }
  return "";
}
