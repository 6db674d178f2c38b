import { findOverlap } from "../../shared/crd/cluster-network.ts";
import type { ClusterSettings } from "../cluster/observe.ts";
import { formatRange, type SubnetRange } from "../subnets/allocate.ts";
import type { Check } from "./checks.ts";

/** The networks of the management cluster, as blocks. */
export interface ManagementNetworks {
  /** Those of its ServiceCIDRs. */
  services: readonly string[];
  /** The podCIDRs of its Nodes; none where a network plugin assigns addresses by itself. */
  pods: readonly string[];
}

/** From this share of taken subnets on, a wider range should be planned. */
const SCARCE = 0.9;

/**
 * Whether the ranges that clusters get are free where the platform runs: what has the same addresses there is not reached from the
 * other side.
 */
export function checkRanges(
  { subnetRange, clusterNetwork }: Pick<ClusterSettings, "subnetRange" | "clusterNetwork">,
  management: ManagementNetworks,
): Check {
  const about = "ranges";
  const { pods = [], services = [] } = clusterNetwork;
  const ranges: [string, readonly string[], string][] = [
    ["nodes", [formatRange(subnetRange)], "MARINA_SUBNET_RANGE"],
    ["pods", pods, "MARINA_POD_CIDRS"],
    ["Services", services, "MARINA_SERVICE_CIDRS"],
  ];
  const own = [...management.services, ...management.pods];
  const overlaps = ranges.flatMap(([what, blocks, variable]) => {
    const pair = findOverlap({ pods: [...blocks], services: own });
    return pair === undefined ? [] : [{ text: `${pair[0]} of ${what} overlaps ${pair[1]}`, variable }];
  });
  if (overlaps.length > 0) {
    const found = overlaps.map(({ text }) => text).join(", ");
    const variables = overlaps.map(({ variable }) => variable).join(", ");
    const text = `Networks of new clusters are those of the management cluster's own Pods and Services, which cannot reach what has the same addresses: ${found}. Set ${variables} to networks that are free.`;
    return { state: "warning", about, text };
  }
  if (management.pods.length === 0) {
    const text = `The ranges of nodes, pods and Services do not overlap the Services of the management cluster (${management.services.join(", ")}), and its Nodes name no podCIDRs: compare the network of its Pods.`;
    return { state: "unknown", about, text };
  }
  const text = `The ranges of nodes, pods and Services do not overlap the Services and Pods of the management cluster.`;
  return { state: "ok", about, text };
}

/** How many of the networks for nodes are taken: without a free one no cluster is made. */
export function checkSubnets(range: SubnetRange, taken: number): Check {
  const about = "subnets";
  const count = `${taken} of the ${range.count} networks of nodes in ${formatRange(range)} are taken`;
  if (taken >= range.count) {
    const text = `${count}: no cluster can be made. Set MARINA_SUBNET_RANGE to a wider range.`;
    return { state: "failed", about, text };
  }
  if (taken >= range.count * SCARCE) {
    const text = `${count}: soon no cluster can be made. Set MARINA_SUBNET_RANGE to a wider range.`;
    return { state: "warning", about, text };
  }
  return { state: "ok", about, text: `${count}.` };
}
