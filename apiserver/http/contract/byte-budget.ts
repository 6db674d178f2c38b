import type { Context } from "hono";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { DEFAULT_REQUEST_LIMITS } from "../limits.ts";
import { toAddressKey } from "../rate-limits/rate-limit.ts";

/** An account holder (user, organization, address) and its maximum share of the budget. */
export interface ByteHolder {
  key: string;
  /** For people, as in "this user". */
  name: string;
  part: number;
}

/** Counts the bytes that this process keeps for its callers, each within its share. */
export interface ByteBudget {
  /**
   * Throws 429 with Retry-After while the caller, who is the first holder, has its whole share; 429 and 503 while a share
   * with others, or the budget, is used up, and the caller has more than is guaranteed to it in that.
   */
  requireCapacity(holders: readonly ByteHolder[]): void;
  /** The most bytes that the accounts of these holders can have together, however long a caller waits. */
  findShare(holders: readonly ByteHolder[]): number;
  /**
   * Opens an account; `cutOff` ends what its bytes are kept for, with all else of its connection. Throws 429 with Retry-After for
   * a holder that has as many as it may have at once.
   */
  open(holders: readonly ByteHolder[], cutOff?: () => void, connection?: object): ByteAccount;
}

export interface ByteAccount {
  /**
   * Counts bytes before they are kept. Throws as requireCapacity when those of a holder would exceed its share, or all
   * together the budget.
   */
  add(bytes: number): void;
  /** Counts bytes that are kept in any case. */
  force(bytes: number): void;
  /**
   * Cuts off and closes the oldest other accounts of a holder, but those of its own connection, while that has more than its share,
   * and the caller more than is guaranteed to it.
   */
  makeRoom(): void;
  /** The account no longer counts among those that a holder may have at once; its bytes do until it is closed. */
  complete(): void;
  /** Gives back what was counted. */
  close(): void;
}

export interface ByteBudgetOptions {
  maxBytes: number;
  /** Accounts that a holder with the whole budget could have at once; each has its part of them. */
  maxAccounts?: number;
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
  accounts: number;
}

/** What an account needs to be cut off in favour of a later one. */
interface OpenAccount {
  holders: readonly ByteHolder[];
  connection: object | undefined;
  end: () => void;
}

/** A budget for one process, so that slow clients cannot fill its memory, and none of them takes it from the others. */
export function createByteBudget({
  maxBytes,
  maxAccounts = Number.POSITIVE_INFINITY,
  what,
}: ByteBudgetOptions): ByteBudget {
  const uses = new Map<string, Use>();
  /** The oldest first. */
  const openAccounts = new Set<OpenAccount>();
  let total = 0;
  const useOf = ({ key }: ByteHolder) => uses.get(key) ?? { bytes: 0, accounts: 0 };
  const busy = (name?: string) =>
    new ApiError(
      name === undefined ? "dependency_unavailable" : "rate_limited",
      `Too many ${what}${name === undefined ? "" : ` for ${name}`} at once; try again.`,
      // The rest of a body is not read, so the connection cannot carry another request.
      { retryAfterSeconds: 1, headers: { Connection: "close" } },
    );

  function requireCapacity(holders: readonly ByteHolder[], bytes: number): void {
    const full = holders.find((holder) => isBeyond(holders, holder, bytes));
    if (full !== undefined) throw busy(full.name);
    if (total + bytes > maxBytes && ownOf(holders) + bytes > maxBytes * GUARANTEED_PART) throw busy();
  }

  /** The bytes of the caller, who is the first holder. */
  const ownOf = ([caller]: readonly ByteHolder[]) =>
    caller === undefined ? Number.POSITIVE_INFINITY : useOf(caller).bytes;

  /** Whether a holder has more than its share with these bytes, and the caller more than is guaranteed to it. */
  function isBeyond(holders: readonly ByteHolder[], holder: ByteHolder, bytes: number): boolean {
    const share = maxBytes * holder.part;
    return useOf(holder).bytes + bytes > share && ownOf(holders) + bytes > share * GUARANTEED_PART;
  }

  function makeRoomFor(kept: OpenAccount, holder: ByteHolder): void {
    for (const account of openAccounts) {
      if (!isBeyond(kept.holders, holder, 0)) return;
      const isOther =
        account !== kept && (kept.connection === undefined || account.connection !== kept.connection);
      if (isOther && account.holders.some(({ key }) => key === holder.key)) account.end();
    }
  }

  function count(holders: readonly ByteHolder[], { bytes, accounts }: Use): void {
    total += bytes;
    for (const holder of holders) {
      const use = useOf(holder);
      use.bytes += bytes;
      use.accounts += accounts;
      if (use.accounts === 0 && use.bytes === 0) uses.delete(holder.key);
      else uses.set(holder.key, use);
    }
  }

  return {
    requireCapacity: (holders) => requireCapacity(holders, 1),
    findShare: (holders) => Math.floor(maxBytes * Math.min(1, ...holders.map(({ part }) => part))),
    open(holders, cutOff, connection) {
      const full = holders.find((holder) => useOf(holder).accounts >= maxAccounts * holder.part);
      if (full !== undefined) throw busy(full.name);
      count(holders, { bytes: 0, accounts: 1 });
      let own = 0;
      let isArriving = true;
      let isOpen = true;
      const force = (bytes: number) => {
        own += bytes;
        count(holders, { bytes, accounts: 0 });
      };
      const complete = () => {
        if (isArriving) count(holders, { bytes: 0, accounts: -1 });
        isArriving = false;
      };
      const close = () => {
        if (!isOpen) return;
        isOpen = false;
        openAccounts.delete(account);
        complete();
        count(holders, { bytes: -own, accounts: 0 });
      };
      const account: OpenAccount = {
        holders,
        connection,
        end() {
          close();
          cutOff?.();
        },
      };
      openAccounts.add(account);
      return {
        add(bytes) {
          requireCapacity(holders, bytes);
          force(bytes);
        },
        force,
        makeRoom() {
          for (const holder of holders) makeRoomFor(account, holder);
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
export function findHolders(c: Context<HttpEnv>): ByteHolder[] {
  const credential = c.get("credential");
  if (credential !== undefined)
    return [
      { key: `credential ${credential.id}`, name: "this credential", part: CALLER_PART },
      toOrganizationHolder(credential.orgId),
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
    ...(orgId === undefined ? [] : [toOrganizationHolder(orgId)]),
  ];
}

function toOrganizationHolder(orgId: string): ByteHolder {
  return { key: `organization ${orgId}`, name: "this organization", part: ORGANIZATION_PART };
}
