import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_QUOTAS,
  LABEL_MANAGED_BY,
  LABEL_ORG_ID,
  MANAGER_APISERVER,
} from "../../shared/crd/names.ts";
import { formatLimits } from "../../shared/crd/quota.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import {
  type Namespace,
  namespaceKind,
  type ResourceQuota,
  resourceQuotaKind,
} from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import { isNamespaceReady, markNamespaceReady, readQuotas } from "./store.ts";

/** The ResourceQuota in each organization's Namespace that limits its ClusterAccesses, by REST and by kubectl. */
export const ACCESS_QUOTA = "marina-cluster-accesses";

/** The count of objects of a custom resource, as a ResourceQuota names it. */
const RESOURCE = `count/${clusterAccessKind.plural}.${clusterAccessKind.group}`;

/** The suffixes of a whole number (k8s.io/apimachinery, resource.Quantity, DecimalSI). */
const MULTIPLES: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9 };

/** How long a request waits for the Namespace of its organization before it leaves it to the job. */
const REQUEST_TIMEOUT_MS = 2000;

type NamespaceDeps = Pick<Deps, "kube" | "db" | "config">;

/** The Namespace that holds an organization's objects. */
export function organizationNamespace(orgId: string): string {
  return `org-${orgId}`;
}

/** The limits that are published on a Namespace, for the operator. */
export function limitsOn({ metadata }: Namespace): string | undefined {
  return metadata.annotations?.[ANNOTATION_QUOTAS];
}

/**
 * Makes sure that the organization's Namespace exists and carries the organization's limits, and returns its name: call
 * it before the first write into it. A new one gets its limit of accesses and its StorageInventory too; what an
 * interrupted call has left out, the next one does. Throws 409 conflict while an earlier Namespace of that name is being
 * deleted, or a KubeError.
 */
export async function ensureNamespace(
  deps: NamespaceDeps,
  orgId: string,
  options: { timeoutMs?: number } = {},
): Promise<string> {
  const { kube, db, config } = deps;
  const name = organizationNamespace(orgId);
  const { effective } = await readQuotas(db, orgId, config.quotas);
  const limits = formatLimits(effective);
  const annotations = { [ANNOTATION_QUOTAS]: limits };
  const writeOptions = { fieldManager: MANAGER_APISERVER, ...options };

  const namespace = await kube.get(namespaceKind, undefined, name, options);
  if (namespace?.metadata.deletionTimestamp !== undefined)
    throw new ApiError("conflict", "The organization's namespace is being deleted; try again.", {
      retryAfterSeconds: 5,
    });
  if (namespace === undefined) {
    const metadata = { name, labels: { [LABEL_ORG_ID]: orgId }, annotations };
    await kube.create(namespaceKind, { metadata }, writeOptions).catch(ignoreAlreadyExists);
  } else if (limitsOn(namespace) !== limits) {
    await kube.mergePatch(namespaceKind, undefined, name, { metadata: { annotations } }, writeOptions);
  }
  if (namespace !== undefined && (await isNamespaceReady(db, orgId))) return name;
  await applyAccessQuota(kube, name, config.maxClusterAccessesPerOrganization, options);
  await ensureInventory(kube, { namespace: name, orgId }, options);
  await markNamespaceReady(db, orgId);
  return name;
}

/** Ensures the Namespace within 2 s; otherwise the periodic job does it. Does not throw. */
export async function ensureNamespaceSoon(
  deps: NamespaceDeps & Pick<Deps, "log">,
  orgId: string,
): Promise<void> {
  try {
    await ensureNamespace(deps, orgId, { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    const message = messageOf(error);
    deps.log.warn({ orgId, message }, "namespace is not up to date yet; the job retries");
  }
}

/** How many accesses a quota allows; undefined when it does not say. Kubernetes shows a limit of 2000 as "2k". */
export function readAccessLimit({ spec }: Pick<ResourceQuota, "spec">): number | undefined {
  const [, digits, suffix = ""] = /^(\d+)([kMG]?)$/.exec(spec?.hard?.[RESOURCE] ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits) * (MULTIPLES[suffix] ?? 1);
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

/** Makes sure that the StorageInventory of an organization exists in its Namespace. Rejects with a KubeError. */
export async function ensureInventory(
  kube: Deps["kube"],
  { namespace, orgId }: { namespace: string; orgId: string },
  options: { timeoutMs?: number } = {},
): Promise<void> {
  const metadata = {
    name: STORAGE_INVENTORY_NAME,
    namespace,
    labels: { [LABEL_ORG_ID]: orgId },
  };
  const writeOptions = { fieldManager: MANAGER_APISERVER, ...options };
  await kube.create(storageInventoryKind, { metadata, spec: {} }, writeOptions).catch(ignoreAlreadyExists);
}

function ignoreAlreadyExists(error: unknown): void {
  if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
}
