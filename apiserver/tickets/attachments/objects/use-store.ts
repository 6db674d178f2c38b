import { cacheFor } from "../../../../shared/program/cache-for.ts";
import { Counter, type Registry } from "../../../../shared/program/metrics.ts";
import type { Deps } from "../../../deps.ts";
import { ApiError } from "../../../http/errors.ts";
import { StoreError, type StoreFailure } from "./http.ts";
import { createObjectStore, type ObjectStore } from "./object-store.ts";

/** How long a check of the bucket counts: an address to a store that is down is worth nothing. */
const CHECK_AGE_MS = 10_000;
const RETRY_SECONDS = 10;

/** Does work on the store of attachments. Throws 503 attachments_unavailable when the store cannot be used. */
export type UseStore = <T>(work: (store: ObjectStore) => Promise<T>) => Promise<T>;

export interface StoreAccess {
  use: UseStore;
  /** Throws 503 attachments_unavailable without a store: a request says so before it looks for the attachment. */
  requireConfigured(): void;
}

/**
 * Access to the configured store, checked before its use. `marina_apiserver_attachment_store_failures_total{reason}` of
 * this process says why it could not be used.
 */
export function createStoreAccess(
  { config, log, now }: Pick<Deps, "config" | "log" | "now">,
  registry: Registry,
): StoreAccess {
  const failures = new Counter({
    name: "marina_apiserver_attachment_store_failures_total",
    help: "Requests about attachments that the object store was not available for, by reason",
    labelNames: ["reason"],
    registers: [registry],
  });
  const fail = (failure: StoreFailure, cause?: unknown): never => {
    failures.inc({ reason: failure });
    throw unavailable(failure, cause);
  };
  const { attachmentStorage } = config;
  if (attachmentStorage === undefined) {
    const requireConfigured = () => fail("unconfigured");
    return { use: () => Promise.resolve().then(requireConfigured), requireConfigured };
  }
  const store = createObjectStore(attachmentStorage, now);
  const check = cacheFor(CHECK_AGE_MS, async () => {
    try {
      await store.requireBucket();
      return { isUsable: true as const };
    } catch (error) {
      return { isUsable: false as const, error: toStoreError(error) };
    }
  });
  const use = async <T>(work: (store: ObjectStore) => Promise<T>): Promise<T> => {
    try {
      const checked = await check();
      if (checked?.isUsable === false) throw checked.error;
      return await work(store);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn(
        { reason: error.failure, message: error.message },
        "the store of attachments is not available",
      );
      return fail(error.failure, error);
    }
  };
  return { use, requireConfigured: () => undefined };
}

function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError("failed", "the store cannot be used", { cause: error });
}

function unavailable(failure: StoreFailure, cause: unknown): ApiError {
  if (failure === "unconfigured")
    return new ApiError("attachments_unavailable", "This service has no store of attachments.");
  return new ApiError(
    "attachments_unavailable",
    "The store of attachments is not available right now; try again.",
    {
      retryAfterSeconds: RETRY_SECONDS,
      cause,
    },
  );
}
