import { createHash } from "node:crypto";

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
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text);
  const [octets, length] = [match?.slice(1, 5).map(Number) ?? [], Number(match?.[5])];
  if (octets.length !== 4 || octets.some((octet) => octet > 255) || length > PREFIX_LENGTH || length < 8) {
    throw new RangeError(`must be an IPv4 network from /8 to /${PREFIX_LENGTH}, not ${JSON.stringify(text)}`);
  }
  const first = octets.reduce((address, octet) => address * 256 + octet, 0);
  const size = 2 ** (32 - length);
  if (first % size !== 0) throw new RangeError(`has host bits set: ${text}`);
  return { first, count: size / SUBNET_SIZE };
}

/**
 * A free /24 of the range for this cluster; undefined = none is left. The search starts at a place that the cluster's id
 * decides, so that many clusters made at once seldom want the same one, and the same cluster wants the same again.
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
  const octets = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256);
  return `${octets.join(".")}/${PREFIX_LENGTH}`;
}
