import { AsyncLocalStorage } from "node:async_hooks";

/** For whom the work of this asynchronous context is done. */
export interface TenantContext {
  /** Whose share of a common resource the work uses: the id of an organization or of a user. */
  tenant: string;
  /** The work changes nothing, and may be slower than what does. */
  isDryRun?: boolean;
  /** Aborts when no caller waits for the result any more; undefined for work that is completed all the same. */
  readonly signal: AbortSignal | undefined;
}

const storage = new AsyncLocalStorage<TenantContext | undefined>();

/** Runs `work`, and whatever it starts, for one tenant. */
export function runForTenant<T>(context: TenantContext, work: () => T): T {
  return storage.run(context, work);
}

/** Runs work whose result others use too: it counts for no tenant, and no tenant's request ends it. */
export function runForAll<T>(work: () => T): T {
  return storage.run(undefined, work);
}

/** The tenant of the current work; undefined for work of the service itself. */
export function currentTenant(): TenantContext | undefined {
  return storage.getStore();
}
