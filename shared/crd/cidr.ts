import { isIPv4, isIPv6 } from "node:net";
import { z } from "zod";
import { type Rule, withRules } from "./rule.ts";

export const MAX_CIDR_LENGTH = 49;
export const MAX_AUTHORIZED_CIDRS = 256;

/**
 * Whether the text is a block in CIDR notation, as `isCIDR` of CEL sees it: IPv4 or IPv6, prefix length without leading
 * zeros, no zone, no IPv4-mapped IPv6 address. A bare address is none.
 */
export function isCidr(text: string): boolean {
  const [address, prefix, ...rest] = text.split("/");
  if (address === undefined || prefix === undefined || rest.length > 0) return false;
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefix)) return false;
  if (isIPv4(address)) return Number(prefix) <= 32;
  return isIPv6(address) && !address.includes("%") && !isIPv4Mapped(address) && Number(prefix) <= 128;
}

/** Whether the address part is the first of its block, as it has to be: 10.0.0.0/8, not 10.0.0.5/8. Needs a CIDR. */
export function hasNoHostBits(cidr: string): boolean {
  const [address = "", prefix = ""] = cidr.split("/");
  const bits = addressBits(address);
  return !bits.slice(Number(prefix)).includes("1");
}

const cidrRules: readonly Rule<string>[] = [
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
    message:
      "must not have bits set beyond its prefix length; write the first address of the block, for example 10.0.0.0/8",
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

export const authorizedCIDRsSchema = withRules(
  z.array(cidrSchema).max(MAX_AUTHORIZED_CIDRS).meta({
    description:
      "Source addresses that may connect to the public API endpoint. Empty or absent means any source; authentication still applies. The cluster's own workers and the platform are always allowed in addition.",
    "x-kubernetes-list-type": "atomic",
  }),
  [uniqueRule],
);

function isIPv4Mapped(address: string): boolean {
  return addressBits(address).startsWith(`${"0".repeat(80)}${"1".repeat(16)}`);
}

/** The address as a string of 32 or 128 binary digits. */
function addressBits(address: string): string {
  return isIPv4(address) ? toBits(address.split("."), 10, 8) : toBits(expandIPv6(address), 16, 16);
}

function toBits(groups: string[], radix: number, width: number): string {
  return groups.map((group) => Number.parseInt(group, radix).toString(2).padStart(width, "0")).join("");
}

/** The eight groups of an IPv6 address, `::` and a dotted IPv4 tail resolved. */
function expandIPv6(address: string): string[] {
  const tail = address.slice(address.lastIndexOf(":") + 1);
  const plain = isIPv4(tail) ? address.slice(0, -tail.length) + dottedToGroups(tail) : address;
  const [head = "", rest] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  if (rest === undefined) return left;
  const right = rest === "" ? [] : rest.split(":");
  return [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right];
}

function dottedToGroups(dotted: string): string {
  const bytes = dotted.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
  return `${bytes.slice(0, 2).join("")}:${bytes.slice(2).join("")}`;
}
