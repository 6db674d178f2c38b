import type { NewEvidence } from "./evidence.ts";
import type { Meters } from "./meters.ts";
import type { SeenCluster } from "./seen.ts";
import { endUse, followUse, useOfControlPlane, useOfStatus } from "./uses.ts";

/**
 * What a Cluster shows that the ledger does not have yet. Its control plane and its package count from its first Ready
 * to its end, whatever happens in between; after the first Ready also what its status names, each use from when it was
 * first seen.
 */
export function findClusterEvidence(
  { object, uid, organizationId, clusterId, clusterName, end }: SeenCluster,
  meters: Meters,
  now: Date,
): NewEvidence[] {
  const { firstReadyAt } = object.status ?? {};
  if (firstReadyAt === undefined) return [];
  const subject = { organizationId, subject: clusterId, objectUid: uid };
  const metered = { ...subject, clusterId, clusterName, nodePoolId: null };
  const controlPlane = { ...metered, kind: "control_plane" } as const;
  const resources = { ...metered, kind: "cluster_resources" } as const;
  const use = useOfControlPlane(object.spec);
  const first = new Date(firstReadyAt);
  if (end !== undefined)
    return [
      ...endUse(controlPlane, meters, { use, first, end }),
      ...endUse(resources, meters, { use: {}, first, end }),
    ];
  return [
    ...followUse(controlPlane, meters, use, { first, now }),
    ...followUse(resources, meters, useOfStatus(object.status), { first: now, now }),
  ];
}
