const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts; returns what undoes that. A signal has one listener for all callbacks: to add or
 * remove one of many listeners takes a signal longer the more there are.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksOf.get(signal) ?? listenOnce(signal);
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

function listenOnce(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  callbacksOf.set(signal, callbacks);
  signal.addEventListener("abort", () => {
    for (const callback of callbacks) callback();
  });
  return callbacks;
}
