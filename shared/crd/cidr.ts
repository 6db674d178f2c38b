import ipaddr from "ipaddr.js";
import { z } from "zod";
import { type Rule, withRules } from "./rule.ts";

export const MAX_CIDR_LENGTH = 49;
export const MAX_AUTHORIZED_CIDRS = 256;

/** Bits of `::ffff:0:0/96`, the block of IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2). */
const MAPPED_PREFIX_LENGTH = 96;

/**
 * Whether the text is a CIDR block by the rules of CEL's `isCIDR`: IPv4 or IPv6, prefix length without leading zeros,
 * no zone, no IPv4-mapped IPv6 address. An address without a prefix length is not a block.
 */
export function isCidr(text: string): boolean {
  if (!/\/(0|[1-9][0-9]*)$/.test(text) || text.includes("%")) return false;
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(text)) return true;
  return ipaddr.IPv6.isValidCIDR(text) && !ipaddr.IPv6.parseCIDR(text)[0].isIPv4MappedAddress();
}

/** Whether a block for which `isCidr` holds is one of IPv6. */
export function isIPv6Cidr(cidr: string): boolean {
  return cidr.includes(":");
}

/** Whether the address is the first one of its block: 10.0.0.0/8, not 10.0.0.5/8. `cidr` must satisfy `isCidr`. */
export function hasNoHostBits(cidr: string): boolean {
  const [address, prefixLength] = ipaddr.parseCIDR(cidr);
  return networkOf(cidr) === `${address.toString()}/${prefixLength}`;
}

/**
 * The block that `isCidr` and `hasNoHostBits` accept and that holds the same addresses: host bits are cleared, and an
 * IPv4-mapped IPv6 block is the IPv4 one. Equal blocks give equal text. Undefined for text that is no block in CIDR
 * notation.
 */
export function maskCidr(text: string): string | undefined {
  if (isCidr(text)) return networkOf(text);
  if (!/\/(0|[1-9][0-9]*)$/.test(text) || text.includes("%") || !ipaddr.IPv6.isValidCIDR(text))
    return undefined;
  const [address, prefixLength] = ipaddr.IPv6.parseCIDR(text);
  if (prefixLength < MAPPED_PREFIX_LENGTH) return networkOf(text);
  return networkOf(`${address.toIPv4Address().toString()}/${prefixLength - MAPPED_PREFIX_LENGTH}`);
}

function networkOf(cidr: string): string {
  const [address, prefixLength] = ipaddr.parseCIDR(cidr);
  const { IPv4, IPv6 } = ipaddr;
  const network =
    address.kind() === "ipv4" ? IPv4.networkAddressFromCIDR(cidr) : IPv6.networkAddressFromCIDR(cidr);
  return `${network.toString()}/${prefixLength}`;
}

export const cidrRules: readonly Rule<string>[] = [
  {
    field: "",
    code: "invalid_cidr",
    message:
      "must be a block in CIDR notation, for example 203.0.113.0/24; a single address is 203.0.113.7/32",
    cel: "isCIDR(self)",
    holds: isCidr,
  },
  {
    field: "",
    code: "invalid_cidr",
    message: "must not have host bits set; use the first address of the block, for example 10.0.0.0/8",
    cel: "!isCIDR(self) || cidr(self).masked() == cidr(self)",
    holds: (cidr) => !isCidr(cidr) || hasNoHostBits(cidr),
  },
];

const uniqueRule: Rule<string[]> = {
  field: "",
  code: "duplicate",
  message: "must not list the same block twice",
  cel: "self.all(block, self.exists_one(other, other == block))",
  holds: (blocks) => new Set(blocks).size === blocks.length,
};

export const cidrSchema = withRules(
  z
    .string()
    .min(1)
    .max(MAX_CIDR_LENGTH)
    .meta({ description: "A block of addresses in CIDR notation, IPv4 or IPv6." }),
  cidrRules,
);

/** Whether two blocks have an address in common. Both must satisfy `isCidr`. */
export function overlap(left: string, right: string): boolean {
  const [a, b] = [ipaddr.parseCIDR(left), ipaddr.parseCIDR(right)];
  if (a[0].kind() !== b[0].kind()) return false;
  return a[1] <= b[1] ? b[0].match(a) : a[0].match(b);
}

export const authorizedCIDRsSchema = withRules(
  z.array(cidrSchema).max(MAX_AUTHORIZED_CIDRS).meta({
    description:
      "Source addresses that may connect to the public API endpoint. Empty or absent means any source; authentication still applies. The cluster's own workers and the platform are always allowed.",
    "x-kubernetes-list-type": "atomic",
  }),
  [uniqueRule],
);
