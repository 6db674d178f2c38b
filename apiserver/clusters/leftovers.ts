import { z } from "zod";
import {
  defineTenantKind,
  listAllPages,
  type TenantClient,
  tenantName,
  tenantNamespace,
} from "../../shared/tenant/tenant-client.ts";
import { MAX_LEFTOVERS, type TenantObject } from "../node-pools/index.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import type { TenantReader, Unknown } from "./tenant-reader.ts";

const services = defineTenantKind(
  { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
  z.object({
    metadata: z.object({ name: tenantName, namespace: tenantNamespace }),
    spec: z.object({ type: z.string().optional() }),
  }),
);
type TenantService = z.output<typeof services.schema>;

const volumes = defineTenantKind(
  { group: "", version: "v1", kind: "PersistentVolume", plural: "persistentvolumes", namespaced: false },
  z.object({
    metadata: z.object({ name: tenantName }),
    spec: z.object({ persistentVolumeReclaimPolicy: z.string().optional() }),
    status: z.object({ phase: z.string().optional() }).optional(),
  }),
);
type TenantVolume = z.output<typeof volumes.schema>;

/**
 * What the deletion of a cluster may leave behind at the provider, read in the cluster itself. Unknown when its API
 * server does not say within 5 s, and when there are more objects than are listed.
 */
export async function readLeftovers(
  reader: TenantReader,
  cluster: ProjectedCluster,
): Promise<TenantObject[] | Unknown> {
  return reader.read(cluster, async (client) => {
    const [foundServices, foundVolumes] = await listBoth(client);
    return findLeftovers(foundServices, foundVolumes);
  });
}

/** Services with a load balancer, and volumes that are kept (Retain) or in use. */
export function findLeftovers(
  ofServices: readonly TenantService[],
  ofVolumes: readonly TenantVolume[],
): TenantObject[] | Unknown {
  const leftovers: TenantObject[] = [
    ...ofServices
      .filter(({ spec }) => spec.type === "LoadBalancer")
      .map(({ metadata }) => ({ kind: "Service", namespace: metadata.namespace, name: metadata.name })),
    ...ofVolumes
      .filter(
        ({ spec, status }) => spec.persistentVolumeReclaimPolicy === "Retain" || status?.phase === "Bound",
      )
      .map(({ metadata }) => ({ kind: "PersistentVolume", namespace: null, name: metadata.name })),
  ];
  if (leftovers.length <= MAX_LEFTOVERS) return leftovers;
  return { unknown: `There are ${leftovers.length}, more than are listed here (${MAX_LEFTOVERS}).` };
}

function listBoth(client: TenantClient) {
  return Promise.all([listAllPages(client, services), listAllPages(client, volumes)]);
}
