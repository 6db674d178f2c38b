import { quantityToScalar } from "@kubernetes/client-node/dist/util.js";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_MANAGED_BY, MANAGER_APISERVER } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type ResourceQuota, resourceQuotaKind } from "../../shared/kube/core-kinds.ts";

/** The ResourceQuota in each organization's Namespace that limits its ClusterAccesses, by REST and by kubectl. */
export const ACCESS_QUOTA = "marina-cluster-accesses";

/** The count of objects of a custom resource, as a ResourceQuota names it. */
const RESOURCE = `count/${clusterAccessKind.plural}.${clusterAccessKind.group}`;

/** How many accesses a quota allows; undefined when it does not say. Kubernetes shows a limit of 2000 as "2k". */
export function readAccessLimit({ spec }: ResourceQuota): number | undefined {
  const limit = spec?.hard?.[RESOURCE];
  return limit === undefined ? undefined : Number(quantityToScalar(limit));
}

/** Writes the limit of ClusterAccess objects in a Namespace. Throws a KubeError. */
export async function applyAccessQuota(
  kube: Pick<KubeClient, "apply">,
  namespace: string,
  limit: number,
  options: { timeoutMs?: number } = {},
): Promise<void> {
  const quota = {
    metadata: { namespace, name: ACCESS_QUOTA, labels: { [LABEL_MANAGED_BY]: MANAGER_APISERVER } },
    spec: { hard: { [RESOURCE]: String(limit) } },
  };
  await kube.apply(resourceQuotaKind, quota, { fieldManager: MANAGER_APISERVER, force: true, ...options });
}
