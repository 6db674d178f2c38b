import { KubeError } from "./errors.ts";

/** One call: the caller's signal and a deadline in one, and the KubeError that tells which of them ended it. */
export interface Call {
  signal: AbortSignal;
  remainingMs(): number;
  /** The deadline no longer counts; the caller's signal does. */
  stopClock(): void;
  abort(reason: KubeError): void;
  /** Must be called once: gives the timer and the listener on the caller's signal back. */
  end(): void;
  toError(error: unknown, request: string): KubeError;
}

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
    stopClock: () => clearTimeout(timer),
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
        kubeMessage: reason === "DeadlineExceeded" ? `no answer within ${timeoutMs} ms` : wordsOf(error),
        request: description,
        cause: error,
      });
    },
  };
}

/** The `code` of a Node or undici error: "ECONNREFUSED". */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

function wordsOf(error: unknown): string {
  if (error instanceof Error && error.message !== "") return error.message;
  return codeOf(error) ?? String(error);
}
