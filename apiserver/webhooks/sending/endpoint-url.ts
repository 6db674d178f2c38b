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
 * Names that the public DNS never holds, for they have a meaning inside a network alone: those without a dot, and those
 * below the names that RFC 6761, RFC 6762, RFC 8375 and ICANN (`internal`) have set aside for that.
 */
const PRIVATE_NAME = /^[^.]+$|\.(localhost|local|internal|home\.arpa)$/;

const REFUSED_ADDRESS: EndpointRefusal = {
  code: "private_address",
  message: "must not point at a private or internal address",
};

/**
 * The rules for an endpoint that need no network. The URL is read as `URL` reads it, so that 0x7f.1, 2130706433 and
 * full-width digits are the address that they stand for.
 */
export function checkEndpointUrl(text: string): EndpointRefusal | undefined {
  if (/^http:/i.test(text)) return { code: "not_https", message: "must be an https URL" };
  const url = parseUrl(text);
  if (url === undefined)
    return {
      code: "invalid_format",
      message: "must be an absolute https URL without spaces and backslashes",
    };
  if (url.protocol !== "https:") return { code: "not_https", message: "must be an https URL" };
  if (url.username !== "" || url.password !== "")
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

/**
 * All rules for an endpoint when it is saved: those of `checkEndpointUrl`, and each address of its host must be
 * allowed. A name that does not resolve in the resolver's time is accepted, for the address is checked again at every
 * connection; one that has a meaning inside a network alone is not.
 */
export async function checkEndpoint(
  text: string,
  { guard, resolver }: { guard: AddressGuard; resolver: Resolver },
): Promise<EndpointRefusal | undefined> {
  const refusal = checkEndpointUrl(text);
  if (refusal !== undefined) return refusal;
  const host = hostOf(new URL(text));
  const addresses = isIP(host) === 0 ? await findAddresses(host, resolver) : [host];
  if (addresses === undefined) return PRIVATE_NAME.test(host) ? REFUSED_ADDRESS : undefined;
  return addresses.every((address) => guard.isAllowed(address)) ? undefined : REFUSED_ADDRESS;
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

/** Undefined also for what `URL` would repair in silence: spaces and control characters, backslashes, missing slashes. */
function parseUrl(text: string): URL | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s\\\p{Cc}]+$/iu.test(text)) return undefined;
  return URL.canParse(text) ? new URL(text) : undefined;
}
