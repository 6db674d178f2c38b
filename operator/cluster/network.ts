import type { Problem } from "../../shared/controller/conditions.ts";
import { overlap } from "../../shared/crd/cidr.ts";
import { type ClusterNetwork, findOverlap } from "../../shared/crd/cluster-network.ts";
import type { ObservedCluster } from "./observe.ts";

/**
 * The networks that Cluster API gets: for a new cluster those of its specification, and what that leaves out from the
 * configuration. A cluster that exists keeps what it has, also nothing: its nodes and Services have their addresses.
 */
export function chooseNetwork({ cluster, capi, settings }: ObservedCluster): ClusterNetwork {
  if (capi !== undefined) {
    const { pods, services } = capi.object.spec?.clusterNetwork ?? {};
    return { pods: pods?.cidrBlocks, services: services?.cidrBlocks };
  }
  return { ...settings.clusterNetwork, ...cluster.spec.clusterNetwork };
}

/** Why a new cluster cannot have these networks; undefined = it can. */
export function findNetworkFault(
  { capi }: Pick<ObservedCluster, "capi">,
  network: ClusterNetwork,
  workerSubnet: string,
): Problem | undefined {
  if (capi !== undefined) return undefined;
  const { pods = [], services = [] } = network;
  const ofNodes = [...pods, ...services].find((block) => overlap(block, workerSubnet));
  const pair = ofNodes === undefined ? findOverlap(network) : [ofNodes, workerSubnet];
  if (pair === undefined) return undefined;
  const message = `The networks of pods, of Services and of nodes must not overlap, but ${pair.join(" and ")} do; create the cluster again with another clusterNetwork.`;
  return { reason: "NetworksOverlap", message };
}
