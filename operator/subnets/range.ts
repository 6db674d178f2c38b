import { createHash } from "node:crypto";
import ipaddr from "ipaddr.js";
import type { Problem } from "../../shared/controller/conditions.ts";
import { hasNoHostBits, overlap } from "../../shared/crd/cidr.ts";
import { type ClusterNetwork, findOverlap } from "../../shared/crd/cluster-network.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";

/** Addresses of one cluster's workers: a /24. */
const PREFIX_LENGTH = 24;
const SUBNET_SIZE = 256;

export interface SubnetRange {
  /** The first address as a number. */
  first: number;
  /** How many /24 it holds. */
  count: number;
}

/** Parses "10.64.0.0/10". Throws a RangeError for anything but an IPv4 network of /24 or wider. */
export function parseSubnetRange(text: string): SubnetRange {
  const [address, length] = ipaddr.IPv4.isValidCIDRFourPartDecimal(text)
    ? ipaddr.IPv4.parseCIDR(text)
    : [undefined, 0];
  if (address === undefined || length > PREFIX_LENGTH || length < 8) {
    throw new RangeError(`must be an IPv4 network from /8 to /${PREFIX_LENGTH}, not ${JSON.stringify(text)}`);
  }
  if (!hasNoHostBits(text)) throw new RangeError(`has host bits set: ${text}`);
  return { first: Buffer.from(address.octets).readUInt32BE(), count: 2 ** (PREFIX_LENGTH - length) };
}

/** The range as a block in CIDR notation. */
export function formatRange({ first, count }: SubnetRange): string {
  return `${formatAddress(first)}/${PREFIX_LENGTH - Math.log2(count)}`;
}

/**
 * A free /24 of the range for this cluster; undefined = none is left. The search starts at a place that the cluster's
 * id decides, so that many clusters made at once seldom want the same one, and the same cluster wants the same again.
 */
export function chooseSubnet(
  range: SubnetRange,
  taken: ReadonlySet<string>,
  clusterId: string,
): string | undefined {
  const start = createHash("sha256").update(clusterId).digest().readUInt32BE(0) % range.count;
  for (let step = 0; step < range.count; step += 1) {
    const subnet = formatSubnet(range.first + ((start + step) % range.count) * SUBNET_SIZE);
    if (!taken.has(subnet)) return subnet;
  }
  return undefined;
}

function formatSubnet(address: number): string {
  return `${formatAddress(address)}/${PREFIX_LENGTH}`;
}

function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

/** Why a new cluster cannot have these networks beside the one of its nodes; undefined = it can. */
export function findNetworkProblem(network: ClusterNetwork, workerSubnet: string): Problem | undefined {
  const { pods = [], services = [] } = network;
  const ofNodes = [...pods, ...services].find((block) => overlap(block, workerSubnet));
  const pair = ofNodes === undefined ? findOverlap(network) : [ofNodes, workerSubnet];
  if (pair === undefined) return undefined;
  const message = `The networks of pods, of Services and of nodes must not overlap, but ${pair.join(" and ")} do. ${ADVICE_BY_REASON.NetworksOverlap.kubectl}`;
  return { reason: "NetworksOverlap", message };
}
