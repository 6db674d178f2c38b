import { type VersionCatalogue, versionCatalogueSchema } from "../../shared/crd/kubernetes-version.ts";
import { VERSION_CATALOGUE_CONFIG_MAP, VERSION_CATALOGUE_KEY } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind, deploymentKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { parseEntry } from "../caches.ts";
import { CORE_PROVIDER_SELECTOR } from "../capi/kinds.ts";
import type { Config } from "../config.ts";
import { LOCK_SELECTOR, readLock } from "../subnets/lock.ts";
import { type Check, type CoreManager, checkCapiVersion } from "./checks.ts";
import { checkImage, listAutoscalerImages } from "./images.ts";
import { checkRanges, checkSubnets } from "./ranges.ts";

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
  const locks = await client.listAll(configMapKind, { namespace, labelSelector: LOCK_SELECTOR });
  const taken = new Set(locks.flatMap((one) => readLock(one)?.subnet ?? []));
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
