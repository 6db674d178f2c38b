import { BlockList, isIPv6 } from "node:net";

/** Access rules and rate limit of one tenant's API. */
export interface AccessRules {
  /** CIDRs that are always admitted and never limited: the platform and the tenant's own workers. */
  trusted: readonly string[];
  /** Further CIDRs that are admitted; undefined = any source. */
  allowed?: readonly string[] | undefined;
  /** New connections of all other sources together. */
  limit?: { maxConnectionsPerSecond: number; burst: number } | undefined;
}

export type AdmissionResult = "admitted" | "refused" | "limited";

export interface Admission {
  /** Decides about one new connection; `nowMs` is monotonic. An admitted one takes a token. */
  admit(source: string, nowMs: number): AdmissionResult;
}

/** Throws for an invalid CIDR. */
function toBlockList(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", prefix = ""] = cidr.split("/");
    list.addSubnet(address, Number.parseInt(prefix, 10), isIPv6(address) ? "ipv6" : "ipv4");
  }
  return list;
}

function createLimiter({ maxConnectionsPerSecond, burst }: NonNullable<AccessRules["limit"]>, nowMs: number) {
  let tokens = burst;
  let filledAtMs = nowMs;
  return (atMs: number): boolean => {
    const gained = ((atMs - filledAtMs) / 1000) * maxConnectionsPerSecond;
    tokens = Math.min(burst, tokens + Math.max(0, gained));
    filledAtMs = atMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

/** Allowlist first, then the token bucket: `burst` at once, `maxConnectionsPerSecond` after that. */
export function createAdmission(rules: AccessRules, nowMs: number): Admission {
  const trusted = toBlockList(rules.trusted);
  const allowed = rules.allowed === undefined ? undefined : toBlockList(rules.allowed);
  const takeToken = rules.limit === undefined ? undefined : createLimiter(rules.limit, nowMs);
  return {
    admit(source, atMs) {
      const family = isIPv6(source) ? "ipv6" : "ipv4";
      if (trusted.check(source, family)) return "admitted";
      if (allowed !== undefined && !allowed.check(source, family)) return "refused";
      return takeToken === undefined || takeToken(atMs) ? "admitted" : "limited";
    },
  };
}
