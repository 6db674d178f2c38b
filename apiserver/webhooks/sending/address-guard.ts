import { BlockList, isIP } from "node:net";
import ipaddr from "ipaddr.js";

export interface AddressGuardOptions {
  /** Addresses and CIDR blocks that may be called whatever else refuses them: for private installations and tests. */
  allowed?: readonly string[];
  /** Further addresses and CIDR blocks that may not be called, as those of pods, Services and management networks. */
  blocked?: readonly string[];
}

export interface AddressGuard {
  /** Whether this IP address may be called; false for text that is no IP address and for one with a zone. */
  isAllowed: (address: string) => boolean;
  /** Whether it is one that the installation has named as allowed. */
  isExempt: (address: string) => boolean;
}

/**
 * IPv4 blocks that are not globally reachable by the IANA IPv4 Special-Purpose Address Registry, 6to4 relays,
 * multicast, and the one public address under which Azure serves the metadata of a virtual machine.
 */
const SPECIAL_IPV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/**
 * All of IPv6 but 2000::/3, the one block of global unicast addresses, and what in it is special by the IANA IPv6
 * registry: protocol assignments with Teredo and ORCHID, documentation, 6to4.
 */
const SPECIAL_IPV6 = ["::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** The prefix that holds an IPv4 address in its last 32 bits (RFC 6052 section 2.1). */
const NAT64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("64:ff9b::"), 96];

/**
 * Creates the rule for the addresses that a webhook may be sent to: those of the public internet, and those in
 * `allowed`, which wins over every other rule.
 *
 * IPv4-mapped addresses are classified by the IPv4 address in them. So are those of NAT64 (64:ff9b::/96): a DNS64
 * resolver gives one for every endpoint that has IPv4 alone, and the call goes to that IPv4 address. 64:ff9b:1::/48 is
 * refused, for where it holds the IPv4 address depends on the network.
 */
export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const special = createBlocks([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
  const allowed = createBlocks(options.allowed ?? []);
  const blocked = createBlocks(options.blocked ?? []);
  const isIn = (blocks: Blocks, given: ipaddr.IPv4 | ipaddr.IPv6) =>
    contains(blocks, given) || contains(blocks, findCalledAddress(given));
  const isAddress = (text: string) => isIP(text) !== 0 && !text.includes("%");
  const isExempt = (text: string) => isAddress(text) && isIn(allowed, parse(text));
  return {
    isExempt,
    isAllowed(text) {
      if (!isAddress(text)) return false;
      if (isExempt(text)) return true;
      const given = parse(text);
      return !(contains(special, findCalledAddress(given)) || isIn(blocked, given));
    },
  };
}

/** Parses an address; an IPv4-mapped one becomes its IPv4 address. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 {
  // In hexadecimal groups alone: ipaddr.js reads ::8.8.8.8, which is not mapped, as if it were.
  const groups = isIP(text) === 6 ? new URL(`https://[${text}]`).hostname.slice(1, -1) : text;
  return ipaddr.process(groups);
}

function findCalledAddress(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === "ipv4" || !address.match(NAT64)) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

/** One list for each family: a BlockList also matches IPv4 addresses with the rules for IPv6, as `::ffff:a.b.c.d`. */
type Blocks = Record<"ipv4" | "ipv6", BlockList>;

function contains(blocks: Blocks, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return blocks[address.kind()].check(address.toString(), address.kind());
}

function createBlocks(texts: readonly string[]): Blocks {
  const blocks = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const text of texts) {
    const [network = "", length] = text.split("/");
    const family = isIP(network) === 6 ? "ipv6" : "ipv4";
    if (length === undefined) blocks[family].addAddress(network, family);
    else blocks[family].addSubnet(network, Number(length), family);
  }
  return blocks;
}
