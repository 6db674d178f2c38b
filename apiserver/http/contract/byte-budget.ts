import type { Context } from "hono";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { DEFAULT_REQUEST_LIMITS } from "../limits.ts";
import { toAddressKey } from "../rate-limits/rate-limit.ts";

/** A consumer of the budget (user, organization, address) and its maximum share of it. */
export interface ByteConsumer {
  key: string;
  /** For people, as in "this user". */
  name: string;
  part: number;
}

/** Counts the bytes that this process keeps for its callers, each within its share. */
export interface ByteBudget {
  /**
   * Throws 429 with Retry-After while the caller, who is the first consumer, has its whole share; 429 and 503 while a share
   * with others, or the budget, is used up, and the caller has more than is guaranteed to it in that.
   */
  requireCapacity(consumers: readonly ByteConsumer[]): void;
  /** The most bytes that the allocations of these consumers can have together, however long a caller waits. */
  findShare(consumers: readonly ByteConsumer[]): number;
  /**
   * Opens an allocation; `cutOff` ends what its bytes are kept for, with all else of its connection. Throws 429 with
   * Retry-After for a consumer that has as many as it may have at once.
   */
  open(consumers: readonly ByteConsumer[], cutOff?: () => void, connection?: object): Allocation;
}

export interface Allocation {
  /**
   * Counts bytes before they are kept. Throws as requireCapacity when those of a consumer would exceed its share, or all
   * together the budget.
   */
  add(bytes: number): void;
  /** Counts bytes without a check: they are kept in any case. */
  addUnchecked(bytes: number): void;
  /**
   * Cuts off and closes the oldest other allocations of a consumer, but those of its own connection, while that has more than its share,
   * and the caller more than is guaranteed to it.
   */
  makeRoom(): void;
  /** The allocation no longer counts among those that a consumer may have at once; its bytes do until it is closed. */
  complete(): void;
  /** Gives back what was counted. */
  close(): void;
}

export interface ByteBudgetOptions {
  maxBytes: number;
  /** Allocations that a consumer with the whole budget could have at once; each has its part of them. */
  maxAllocations?: number;
  /** What is counted, for people: "request bodies are arriving". */
  what: string;
}

/** A person with all API tokens, or an address. Eight of them use up a budget. */
export const CALLER_PART = 1 / 8;
/** The most that a response to a GET has by default, unless it is a stream. */
export const MAX_READ_BYTES = DEFAULT_REQUEST_LIMITS.maxUnreadBytes * CALLER_PART;
const ORGANIZATION_PART = 1 / 4;
/** All callers without a valid credential together, whatever number of addresses they have. */
const ANONYMOUS_PART = 1 / 4;
/**
 * What every caller has of a share or of the budget that others use up: of the whole 128 KiB of responses and 64 KiB of
 * bodies by default, of a quarter a quarter of that. So small requests are never refused for what others leave unread.
 */
const GUARANTEED_PART = 1 / 1024;

interface Use {
  bytes: number;
  allocations: number;
}

/** What an allocation needs to be cut off in favour of a later one. */
interface OpenAllocation {
  consumers: readonly ByteConsumer[];
  connection: object | undefined;
  end: () => void;
}

/** A budget for one process, so that slow clients cannot fill its memory, and none of them takes it from the others. */
export function createByteBudget({
  maxBytes,
  maxAllocations = Number.POSITIVE_INFINITY,
  what,
}: ByteBudgetOptions): ByteBudget {
  const uses = new Map<string, Use>();
  /** The oldest first. */
  const openAllocations = new Set<OpenAllocation>();
  let total = 0;
  const useOf = ({ key }: ByteConsumer) => uses.get(key) ?? { bytes: 0, allocations: 0 };
  const busy = (name?: string) =>
    new ApiError(
      name === undefined ? "dependency_unavailable" : "rate_limited",
      `Too many ${what}${name === undefined ? "" : ` for ${name}`} at once; try again.`,
      // The rest of a body is not read, so the connection cannot carry another request.
      { retryAfterSeconds: 1, headers: { Connection: "close" } },
    );

  function requireCapacity(consumers: readonly ByteConsumer[], bytes: number): void {
    const full = consumers.find((consumer) => isBeyond(consumers, consumer, bytes));
    if (full !== undefined) throw busy(full.name);
    if (total + bytes > maxBytes && ownOf(consumers) + bytes > maxBytes * GUARANTEED_PART) throw busy();
  }

  /** The bytes of the caller, who is the first consumer. */
  const ownOf = ([caller]: readonly ByteConsumer[]) =>
    caller === undefined ? Number.POSITIVE_INFINITY : useOf(caller).bytes;

  /** Whether a consumer has more than its share with these bytes, and the caller more than is guaranteed to it. */
  function isBeyond(consumers: readonly ByteConsumer[], consumer: ByteConsumer, bytes: number): boolean {
    const share = maxBytes * consumer.part;
    return useOf(consumer).bytes + bytes > share && ownOf(consumers) + bytes > share * GUARANTEED_PART;
  }

  function makeRoomFor(kept: OpenAllocation, consumer: ByteConsumer): void {
    for (const allocation of openAllocations) {
      if (!isBeyond(kept.consumers, consumer, 0)) return;
      const isOther =
        allocation !== kept && (kept.connection === undefined || allocation.connection !== kept.connection);
      if (isOther && allocation.consumers.some(({ key }) => key === consumer.key)) allocation.end();
    }
  }

  function count(consumers: readonly ByteConsumer[], { bytes, allocations }: Use): void {
    total += bytes;
    for (const consumer of consumers) {
      const use = useOf(consumer);
      use.bytes += bytes;
      use.allocations += allocations;
      if (use.allocations === 0 && use.bytes === 0) uses.delete(consumer.key);
      else uses.set(consumer.key, use);
    }
  }

  return {
    requireCapacity: (consumers) => requireCapacity(consumers, 1),
    findShare: (consumers) => Math.floor(maxBytes * Math.min(1, ...consumers.map(({ part }) => part))),
    open(consumers, cutOff, connection) {
      const full = consumers.find((one) => useOf(one).allocations >= maxAllocations * one.part);
      if (full !== undefined) throw busy(full.name);
      count(consumers, { bytes: 0, allocations: 1 });
      let own = 0;
      let isArriving = true;
      let isOpen = true;
      const addUnchecked = (bytes: number) => {
        own += bytes;
        count(consumers, { bytes, allocations: 0 });
      };
      const complete = () => {
        if (isArriving) count(consumers, { bytes: 0, allocations: -1 });
        isArriving = false;
      };
      const close = () => {
        if (!isOpen) return;
        isOpen = false;
        openAllocations.delete(allocation);
        complete();
        count(consumers, { bytes: -own, allocations: 0 });
      };
      const allocation: OpenAllocation = {
        consumers,
        connection,
        end() {
          close();
          cutOff?.();
        },
      };
      openAllocations.add(allocation);
      return {
        add(bytes) {
          requireCapacity(consumers, bytes);
          addUnchecked(bytes);
        },
        addUnchecked,
        makeRoom() {
          for (const consumer of consumers) makeRoomFor(allocation, consumer);
        },
        complete,
        close,
      };
    },
  };
}

/**
 * For whom a request is served: its user and organization, a cluster's credential and its organization, or without a
 * valid credential the address.
 */
export function findConsumers(c: Context<HttpEnv>): ByteConsumer[] {
  const credential = c.get("credential");
  if (credential !== undefined)
    return [
      { key: `credential ${credential.id}`, name: "this credential", part: CALLER_PART },
      toOrganizationConsumer(credential.orgId),
    ];
  const principal = c.get("principal");
  if (principal === undefined) {
    const address = c.get("sourceAddress") ?? "";
    return [
      { key: `address ${toAddressKey(address)}`, name: "this address", part: CALLER_PART },
      { key: "anonymous", name: "callers who are no users", part: ANONYMOUS_PART },
    ];
  }
  const orgId = c.get("membership")?.orgId;
  return [
    { key: `user ${principal.userId}`, name: "this user", part: CALLER_PART },
    ...(orgId === undefined ? [] : [toOrganizationConsumer(orgId)]),
  ];
}

function toOrganizationConsumer(orgId: string): ByteConsumer {
  return { key: `organization ${orgId}`, name: "this organization", part: ORGANIZATION_PART };
}
