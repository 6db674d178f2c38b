/** A number of slots for each tenant. */
export interface TenantSlots {
  /**
   * Waits for a slot of the tenant, first come, first served. Resolves with the function that returns it, to be called
   * once; rejects with the reason of `signal` when that aborts first.
   */
  take(tenant: string, signal?: AbortSignal): Promise<() => void>;
}

/** Lets each tenant do `perTenant` things at once. Tenants without work cost no memory. */
export function createTenantSlots(perTenant: number): TenantSlots {
  const held = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();

  function release(tenant: string): void {
    const waiters = waiting.get(tenant);
    const [next] = waiters ?? [];
    if (next !== undefined) {
      forget(tenant, next);
      next();
      return;
    }
    const left = (held.get(tenant) ?? 1) - 1;
    if (left === 0) held.delete(tenant);
    else held.set(tenant, left);
  }

  function forget(tenant: string, waiter: () => void): void {
    const waiters = waiting.get(tenant);
    waiters?.delete(waiter);
    if (waiters?.size === 0) waiting.delete(tenant);
  }

  return {
    async take(tenant, signal) {
      signal?.throwIfAborted();
      const count = held.get(tenant) ?? 0;
      if (count < perTenant) {
        held.set(tenant, count + 1);
        return () => release(tenant);
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = () => {
        forget(tenant, resolve);
        reject(signal?.reason);
      };
      waiting.set(tenant, (waiting.get(tenant) ?? new Set()).add(resolve));
      signal?.addEventListener("abort", onAbort, { once: true });
      await promise.finally(() => signal?.removeEventListener("abort", onAbort));
      return () => release(tenant);
    },
  };
}
