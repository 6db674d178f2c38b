import { KubeError, networkCodeOf } from "./errors.ts";

/** Combines the caller's signal with a deadline, and reports as a KubeError which of them ended the call. */
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

/**
 * The lines of a byte stream without their newline; a last line without newline is included. Calls `onIdle`, which must
 * end the stream, when no byte arrives for `idleTimeoutMs` while a line is awaited.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  idleTimeoutMs: number,
  onIdle: () => void,
): AsyncGenerator<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const timer = setTimeout(onIdle, idleTimeoutMs);
      const { done, value } = await iterator.next().finally(() => clearTimeout(timer));
      if (done) break;
      const parts = decoder.decode(value, { stream: true }).split("\n");
      parts[0] = rest + parts[0];
      rest = parts.pop() ?? "";
      yield* parts.filter((line) => line !== "");
    }
    rest += decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    await iterator.return?.();
  }
}
