import { findOverlap } from "../../shared/crd/cluster-network.ts";
import { type VersionCatalogue, versionCatalogueSchema } from "../../shared/crd/kubernetes-version.ts";
import { VERSION_CATALOGUE_CONFIG_MAP, VERSION_CATALOGUE_KEY } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind, deploymentKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { parseEntry } from "../caches.ts";
import { CORE_PROVIDER_SELECTOR } from "../capi/kinds.ts";
import type { ClusterSettings } from "../cluster/observe.ts";
import type { Config } from "../config.ts";
import { ALLOCATION_SELECTOR, readAllocation } from "../subnets/allocation.ts";
import { formatRange, type SubnetRange } from "../subnets/range.ts";
import { type Check, type CoreManager, checkCapiVersion } from "./checks.ts";
import { checkImage, listAutoscalerImages } from "./images.ts";

interface Node extends KubeObject {
  spec?: { podCIDRs?: string[] };
}

const nodeKind = defineKind<Node>({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  namespaced: false,
});

interface ServiceCIDR extends KubeObject {
  spec?: { cidrs?: string[] };
}

const serviceCidrKind = defineKind<ServiceCIDR>({
  group: "networking.k8s.io",
  version: "v1",
  kind: "ServiceCIDR",
  plural: "servicecidrs",
  namespaced: false,
});

type Settings = Config["settings"];
type ReadClient = Pick<KubeClient, "get" | "listAll">;

/** The version of Cluster API, by its Deployments, which may be anywhere. */
export async function checkCoreManagers(client: ReadClient): Promise<Check> {
  const byLabel = { labelSelector: CORE_PROVIDER_SELECTOR };
  const deployments = await unlessForbidden(client.listAll(deploymentKind, byLabel));
  return checkCapiVersion(
    deployments?.map((deployment): CoreManager => {
      const containers = deployment.spec?.template.spec?.containers ?? [];
      return { name: objectKey(deployment), images: containers.flatMap(({ image }) => image ?? []) };
    }),
  );
}

/** Whether the networks that clusters get are free, and how many there are left. */
export async function checkManagementNetworks(
  client: ReadClient,
  settings: Pick<Settings, "subnetRange" | "clusterNetwork" | "platformNamespace">,
): Promise<Check[]> {
  const { platformNamespace: namespace, subnetRange } = settings;
  const allocations = await client.listAll(configMapKind, { namespace, labelSelector: ALLOCATION_SELECTOR });
  const taken = new Set(allocations.flatMap((one) => readAllocation(one)?.subnet ?? []));
  const subnets = checkSubnets(subnetRange, taken.size);
  const nodes = await unlessForbidden(client.listAll(nodeKind));
  const services = await unlessForbidden(client.listAll(serviceCidrKind));
  if (nodes === undefined || services === undefined) {
    const text =
      "The networks of the management cluster are not known: the operator may not list nodes and servicecidrs. Bind its ServiceAccount to the ClusterRole of the chart.";
    return [{ state: "unknown", about: "ranges", text }, subnets];
  }
  const management = {
    services: services.flatMap(({ spec }) => spec?.cidrs ?? []),
    pods: nodes.flatMap(({ spec }) => spec?.podCIDRs ?? []),
  };
  return [checkRanges(settings, management), subnets];
}

/** Whether the images of autoscalers for the versions on offer are in their registries; nothing without an image. */
export async function checkAutoscalerImages(
  client: ReadClient,
  { autoscalerImage, platformNamespace }: Pick<Settings, "autoscalerImage" | "platformNamespace">,
): Promise<Check[]> {
  if (autoscalerImage === undefined) return [];
  const images = listAutoscalerImages(autoscalerImage, await readCatalogue(client, platformNamespace));
  if (images.length > 0) return Promise.all(images.map((image) => checkImage(image)));
  const text = `Which images of ${autoscalerImage} are needed is not known: the ConfigMap ${platformNamespace}/${VERSION_CATALOGUE_CONFIG_MAP} offers no valid version.`;
  return [{ state: "unknown", about: "image", text }];
}

/** The versions on offer; none while they are not published, or invalid. */
async function readCatalogue(client: ReadClient, namespace: string): Promise<VersionCatalogue> {
  const published = await client.get(configMapKind, namespace, VERSION_CATALOGUE_CONFIG_MAP);
  try {
    const entry = { key: VERSION_CATALOGUE_KEY, schema: versionCatalogueSchema };
    return (published && parseEntry(published, entry)) ?? [];
  } catch {
    return [];
  }
}

async function unlessForbidden<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof KubeError && error.status === 403) return undefined;
    throw error;
  }
}

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
