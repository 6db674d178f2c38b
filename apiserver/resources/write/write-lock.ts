import type { KeyedSlots } from "../../../shared/program/limits.ts";
import type { Deps } from "../../deps.ts";
import type { TenantSlot } from "../../http/contract/tenant-slot.ts";
import { ApiError, clientDisconnected } from "../../http/errors.ts";
import type { Collection, ObjectRef } from "./collection.ts";

/** With so many waiting a client is better asked to retry later. */
const MAX_WAITING = 50;

const RETRY_AFTER_SECONDS = 1;

/**
 * Runs a write of a custom resource after those of the same object that came to this process before it, in their order. Who
 * waits holds no slot of the tenant, and stops when the request ends. Throws 409 conflict when the write cannot begin within
 * `withinMs`, and 429 when 50 wait already, or when no slot of the tenant is free within 20 s of its turn.
 */
export async function withWriteLock<T>(
  { writeLocks }: Pick<Deps, "writeLocks">,
  slot: TenantSlot,
  { kindName, noun }: Pick<Collection<never, never>, "kindName" | "noun">,
  { namespace, name, withinMs }: Pick<ObjectRef, "namespace" | "name"> & { withinMs: number },
  write: () => Promise<T>,
): Promise<T> {
  const key = `${kindName} ${namespace}/${name}`;
  const until = performance.now() + withinMs;
  const release = writeLocks.tryTake(key);
  if (release === undefined && writeLocks.countWaiting(key) >= MAX_WAITING)
    throw new ApiError("rate_limited", `Too many requests wait to change the ${noun}; try again.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  const end = release ?? (await waitForLock(writeLocks, slot, { key, noun, withinMs }));
  try {
    // The lock is held meanwhile: the order stays, and as no one waits for a lock while holding a slot, there is no deadlock.
    await slot.acquire();
    if (performance.now() > until) throw beingChanged(noun);
    return await write();
  } finally {
    end();
  }
}

async function waitForLock(
  locks: KeyedSlots,
  slot: TenantSlot,
  { key, noun, withinMs }: { key: string; noun: string; withinMs: number },
): Promise<() => void> {
  slot.release();
  const tooLong = AbortSignal.timeout(withinMs);
  try {
    return await locks.take(key, AbortSignal.any([tooLong, slot.ended]));
  } catch (error) {
    if (tooLong.aborted) throw beingChanged(noun);
    throw clientDisconnected(error);
  }
}

/** 409 conflict for an object that other requests change all the time. */
export function beingChanged(noun: string): ApiError {
  return new ApiError("conflict", `The ${noun} is being changed by other requests; try again.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
