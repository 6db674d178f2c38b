import { Resolver as DnsResolver } from "node:dns/promises";
import { AttemptError } from "./error-class.ts";

export interface ResolverOptions {
  /** DNS servers as `address` or `address:port`; without them those of /etc/resolv.conf. */
  servers?: readonly string[];
  /** For both queries of a name together, in milliseconds. */
  timeoutMs?: number;
}

export interface Resolver {
  /**
   * The addresses of a name, IPv4 first, at least one. Rejects with an AttemptError of class `dns` when the name has no
   * address, and when no query succeeded in time.
   */
  resolve(name: string): Promise<string[]>;
}

const TIMEOUT_MS = 2000;
const TRIES = 2;

/** `localhost` and all names below it are the loopback addresses, by RFC 6761 section 6.3. */
const LOOPBACK_NAME = /^(.+\.)?localhost\.?$/;

/**
 * Creates a resolver that asks DNS servers itself: its queries have a deadline and take no thread of libuv's pool,
 * which a slow DNS server could otherwise fill. Names are used unchanged: /etc/hosts and search domains are not used.
 */
export function createResolver({ servers, timeoutMs = TIMEOUT_MS }: ResolverOptions = {}): Resolver {
  const dns = new DnsResolver({ timeout: Math.ceil(timeoutMs / TRIES), tries: TRIES });
  if (servers !== undefined && servers.length > 0) dns.setServers(servers);
  return {
    async resolve(name) {
      if (LOOPBACK_NAME.test(name)) return ["127.0.0.1", "::1"];
      const queries = await Promise.allSettled([
        before(timeoutMs, dns.resolve4(name)),
        before(timeoutMs, dns.resolve6(name)),
      ]);
      const addresses = queries.flatMap((query) => (query.status === "fulfilled" ? query.value : []));
      if (addresses.length > 0) return addresses;
      const [cause] = queries.flatMap((query) => (query.status === "rejected" ? [query.reason] : []));
      throw new AttemptError("dns", `the name could not be resolved: ${describe(cause)}`, { cause });
    },
  };
}

/** Rejects when the deadline is over; the query ends by the limits of the resolver. */
async function before<T>(timeoutMs: number, query: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error(), { code: "ETIMEOUT" })), timeoutMs);
  });
  try {
    return await Promise.race([query, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reasons of c-ares for people; other codes are shown unchanged. */
const REASONS: Record<string, string> = {
  ENOTFOUND: "there is no such name",
  ENODATA: "it has no address",
  ESERVFAIL: "the DNS server failed",
  EREFUSED: "the DNS server refused the query",
  ETIMEOUT: "the DNS server did not respond in time",
  ECONNREFUSED: "no DNS server responds",
};

function describe(cause: unknown): string {
  const code = (cause as { code?: string } | undefined)?.code ?? "unknown";
  return REASONS[code] ?? code;
}
