import { KubeError, networkCodeOf } from "./errors.ts";

/** One call of the Kubernetes API while it runs. */
export interface Call {
  signal: AbortSignal;
  remainingMs(): number;
  /** Removes the deadline; the caller's signal stays. */
  clearDeadline(): void;
  abort(reason: KubeError): void;
  /** Must be called once: releases the timer and the listener on the caller's signal. */
  end(): void;
  toError(error: unknown, request: string): KubeError;
}

/** Combines the caller's signal with a deadline; `toError` reports as a KubeError which of them ended the call. */
export function startCall(request: { signal?: AbortSignal | undefined }, timeoutMs: number): Call {
  const controller = new AbortController();
  const endsAt = performance.now() + timeoutMs;
  const outer = request.signal;
  let reason = "Unreachable";
  const stop = (why: string) => {
    reason = why;
    controller.abort();
  };
  const onAbort = () => stop("Aborted");
  const timer = setTimeout(() => stop("DeadlineExceeded"), timeoutMs);
  if (outer?.aborted) onAbort();
  outer?.addEventListener("abort", onAbort, { once: true });

  return {
    signal: controller.signal,
    remainingMs: () => endsAt - performance.now(),
    clearDeadline: () => clearTimeout(timer),
    abort: (error) => controller.abort(error),
    end() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", onAbort);
    },
    toError(error, description) {
      if (error instanceof KubeError) return error;
      if (controller.signal.reason instanceof KubeError) return controller.signal.reason;
      return new KubeError({
        status: 0,
        reason,
        kubeMessage:
          reason === "DeadlineExceeded" ? `no response within ${timeoutMs} ms` : describeError(error),
        request: description,
        cause: error,
      });
    },
  };
}

function describeError(error: unknown): string {
  if (error instanceof Error && error.message !== "") return error.message;
  return networkCodeOf(error) ?? String(error);
}
