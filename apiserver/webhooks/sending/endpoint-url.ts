import { isIP } from "node:net";
import type { AddressGuard } from "./address-guard.ts";
import { classifyError } from "./error-class.ts";
import type { Resolver } from "./resolver.ts";

/** Why a URL is refused as an endpoint; code and message as the details of a validation error show them. */
export interface EndpointRefusal {
  code: "invalid_format" | "not_https" | "embedded_credentials" | "out_of_range" | "private_address";
  message: string;
}

const HTTPS_PORT = 443;
const FIRST_UNPRIVILEGED_PORT = 1024;

/**
 * Names that have a meaning inside a network alone: those without a dot, and those that are or end in one of RFC 6761
 * (localhost), RFC 6762 (local, and what its appendix G finds in use), RFC 8375 (home.arpa), RFC 1035 (in-addr.arpa),
 * ICANN (internal) and Kubernetes (svc, cluster.local).
 */
const PRIVATE_NAME =
  /^[^.]+$|(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|lan|home|home\.arpa|in-addr\.arpa|ip6\.arpa|svc)$/;

const REFUSED_ADDRESS: EndpointRefusal = {
  code: "private_address",
  message: "must not point at a private or internal address",
};

/**
 * The rules for an endpoint that need no network. The URL is read as `URL` reads it, so that 0x7f.1, 2130706433 and
 * full-width digits are the address that they stand for.
 */
export function findUrlRefusal(text: string): EndpointRefusal | undefined {
  if (/^http:/i.test(text)) return { code: "not_https", message: "must be an https URL" };
  const url = parseUrl(text);
  if (url === undefined)
    return {
      code: "invalid_format",
      message: "must be an absolute https URL without spaces and backslashes",
    };
  if (url.protocol !== "https:") return { code: "not_https", message: "must be an https URL" };
  // Empty user information is not in what `URL` has read.
  if (/^https:\/\/[^/?#]*@/i.test(text))
    return { code: "embedded_credentials", message: "must not hold a user name or a password" };
  if (url.hostname.endsWith("."))
    return { code: "invalid_format", message: "must name a host that does not end in a dot" };
  const port = url.port === "" ? HTTPS_PORT : Number(url.port);
  if (port !== HTTPS_PORT && port < FIRST_UNPRIVILEGED_PORT)
    return {
      code: "out_of_range",
      message:
        "must use port 443 or one from 1024 to 65535; the others belong to services that take no webhooks, as SSH and mail",
    };
  return undefined;
}

export interface EndpointRules {
  guard: AddressGuard;
  resolver: Resolver;
  /** Further names of the platform that may not be called, with all names below them. */
  blockedNames: readonly string[];
}

/**
 * All rules for an endpoint when it is saved: those of `findUrlRefusal`, and each address of its host must be
 * allowed. A name that does not resolve in the resolver's time is accepted, for the address is checked again at every
 * connection. A name that has a meaning inside a network alone, or is the platform's, is refused whatever it resolves
 * to, unless the installation names every address of it as allowed.
 */
export async function findEndpointRefusal(
  text: string,
  { guard, resolver, blockedNames }: EndpointRules,
): Promise<EndpointRefusal | undefined> {
  const refusal = findUrlRefusal(text);
  if (refusal !== undefined) return refusal;
  const host = hostOf(new URL(text));
  if (isIP(host) !== 0) return guard.isAllowed(host) ? undefined : REFUSED_ADDRESS;
  const addresses = await findAddresses(host, resolver);
  if (PRIVATE_NAME.test(host) || blockedNames.some((name) => isAtOrBelow(host, name)))
    return addresses?.every((address) => guard.isExempt(address)) ? undefined : REFUSED_ADDRESS;
  return addresses?.every((address) => guard.isAllowed(address)) === false ? REFUSED_ADDRESS : undefined;
}

function isAtOrBelow(host: string, name: string): boolean {
  return host === name || host.endsWith(`.${name}`);
}

/** The host of a URL as DNS and sockets take it: an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

async function findAddresses(name: string, resolver: Resolver): Promise<string[] | undefined> {
  try {
    return await resolver.resolve(name);
  } catch (error) {
    if (classifyError(error) === "dns") return undefined;
    throw error;
  }
}

/**
 * Undefined also for what `URL` would repair in silence: spaces and control characters, backslashes, missing slashes,
 * and a third one, behind which `URL` still finds a host and its user information.
 */
function parseUrl(text: string): URL | undefined {
  if (!/^(?!https:\/{3})[a-z][a-z0-9+.-]*:\/\/[^\s\\\p{Cc}]+$/iu.test(text)) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}
