import { clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_ORG_NAME,
  ANNOTATION_QUOTAS,
  LABEL_MANAGED_BY,
  LABEL_ORG_ID,
  LABEL_ORG_SLUG,
  MANAGER_APISERVER,
} from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { formatLimits, NO_AMOUNTS, type QuotaAmounts } from "../../shared/crd/quota.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import {
  type Namespace,
  namespaceKind,
  type ResourceQuota,
  resourceQuotaKind,
} from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Kind } from "../../shared/kube/kind.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import { markNamespaceReady, type PublishedOrganization, readPublished } from "./namespace-store.ts";

/** The ResourceQuota in each organization's Namespace that limits its ClusterAccesses, by REST and by kubectl. */
export const ACCESS_QUOTA = "marina-cluster-accesses";

/**
 * The ResourceQuota in each organization's Namespace that limits its Clusters and NodePools, by REST and by kubectl.
 */
export const OBJECT_QUOTA = "marina-clusters";

/** The count of objects of a custom resource, as a ResourceQuota names it. */
const countOf = ({ plural, group }: Pick<Kind<unknown>, "plural" | "group">) => `count/${plural}.${group}`;

/** How many objects of each kind a Namespace may hold, by the name of their count. */
type ObjectCounts = Readonly<Record<string, number>>;

/** The suffixes of a whole number (k8s.io/apimachinery, resource.Quantity, DecimalSI). */
const MULTIPLES: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9 };

/** How long a request waits for the Namespace of its organization before it leaves it to the job. */
const REQUEST_TIMEOUT_MS = 2000;

/** How many objects a Namespace may hold above twice the quota of clusters, or of node pools. */
const SPARE_OBJECTS = 20;

type NamespaceDeps = Pick<Deps, "kube" | "db" | "config">;

/** The Namespace that holds an organization's objects. */
export function organizationNamespace(orgId: string): string {
  return `org-${orgId}`;
}

/** Slug and name of the organization, for people, and its limits, for the operator. */
function composePublished({ name, slug, quotas }: PublishedOrganization) {
  return {
    labels: { [LABEL_ORG_SLUG]: slug },
    annotations: { [ANNOTATION_ORG_NAME]: name, [ANNOTATION_QUOTAS]: formatLimits(quotas.effective) },
  };
}

/** Whether a Namespace shows what it should of its organization. */
export function showsPublished({ metadata }: Namespace, organization: PublishedOrganization): boolean {
  const { labels, annotations } = composePublished(organization);
  const shows = (live: Record<string, string> | undefined, desired: Record<string, string>) =>
    Object.entries(desired).every(([name, value]) => live?.[name] === value);
  return shows(metadata.labels, labels) && shows(metadata.annotations, annotations);
}

/**
 * How many objects an organization's Namespace may hold, by the name of the ResourceQuota. Of clusters and node pools
 * more than the organization's quotas allow: one that exceeds them says so in its status, and one that is being deleted
 * counts.
 */
export function objectLimitsOf(
  { clusters, nodePools }: QuotaAmounts,
  maxClusterAccesses: number,
): Readonly<Record<string, ObjectCounts>> {
  return {
    [ACCESS_QUOTA]: { [countOf(clusterAccessKind)]: maxClusterAccesses },
    [OBJECT_QUOTA]: {
      [countOf(clusterKind)]: 2 * clusters + SPARE_OBJECTS,
      [countOf(nodePoolKind)]: 2 * nodePools + SPARE_OBJECTS,
    },
  };
}

/**
 * Makes sure that the organization's Namespace exists and carries the organization's name, slug and limits, and returns
 * its name: call it before the first write into it. A new one gets its limits of objects and its StorageInventory too;
 * what an interrupted call has left out, the next one does. Throws 404 for no organization, 409 conflict while an
 * earlier Namespace of that name is being deleted, or a KubeError.
 */
export async function ensureNamespace(
  deps: NamespaceDeps,
  orgId: string,
  options: { timeoutMs?: number } = {},
): Promise<string> {
  const { kube, db, config } = deps;
  const name = organizationNamespace(orgId);
  const organization = await readPublished(db, orgId, config.quotas);
  const { labels, annotations } = composePublished(organization);
  const writeOptions = { fieldManager: MANAGER_APISERVER, ...options };

  const namespace = await kube.get(namespaceKind, undefined, name, options);
  if (namespace?.metadata.deletionTimestamp !== undefined)
    throw new ApiError("conflict", "The organization's namespace is being deleted; try again.", {
      retryAfterSeconds: 5,
    });
  if (namespace === undefined) {
    const metadata = { name, labels: { [LABEL_ORG_ID]: orgId, ...labels }, annotations };
    await kube.create(namespaceKind, { metadata }, writeOptions).catch(ignoreAlreadyExists);
  } else if (!showsPublished(namespace, organization)) {
    await kube.mergePatch(
      namespaceKind,
      undefined,
      name,
      { metadata: { labels, annotations } },
      writeOptions,
    );
  }
  if (namespace !== undefined && organization.isNamespaceReady) return name;
  const limitsByQuota = objectLimitsOf(
    organization.quotas.effective,
    config.maxClusterAccessesPerOrganization,
  );
  await Promise.all(
    Object.entries(limitsByQuota).map(([quota, counts]) =>
      applyObjectQuota(kube, { namespace: name, name: quota }, counts, options),
    ),
  );
  await ensureInventory(kube, { namespace: name, orgId }, options);
  await markNamespaceReady(db, organization);
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

const NO_QUOTAS = formatLimits(NO_AMOUNTS);

/**
 * Takes slug and name from the Namespace of a deleted organization, for another organization may get the slug, and sets its quotas
 * to 0: whoever may still create clusters there by kubectl or GitOps gets no machines. Resolves to the Namespace as it is then. Throws a
 * KubeError.
 */
export async function endNamespace(
  kube: Pick<KubeClient, "mergePatch">,
  namespace: Namespace,
  options: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Namespace> {
  const { name, labels, annotations } = namespace.metadata;
  const isNamed = labels?.[LABEL_ORG_SLUG] !== undefined || annotations?.[ANNOTATION_ORG_NAME] !== undefined;
  if (!isNamed && annotations?.[ANNOTATION_QUOTAS] === NO_QUOTAS) return namespace;
  const metadata = {
    labels: { [LABEL_ORG_SLUG]: null },
    annotations: { [ANNOTATION_ORG_NAME]: null, [ANNOTATION_QUOTAS]: NO_QUOTAS },
  };
  const write = { fieldManager: MANAGER_APISERVER, ...options };
  return kube.mergePatch(namespaceKind, undefined, name, { metadata }, write);
}

/** Ends the Namespace of a deleted organization within 2 s; otherwise the periodic job does it. Does not throw. */
export async function endNamespaceSoon(
  { kube, log }: Pick<Deps, "kube" | "log">,
  orgId: string,
): Promise<void> {
  const options = { timeoutMs: REQUEST_TIMEOUT_MS };
  try {
    const namespace = await kube.get(namespaceKind, undefined, organizationNamespace(orgId), options);
    if (namespace !== undefined && namespace.metadata.deletionTimestamp === undefined)
      await endNamespace(kube, namespace, options);
  } catch (error) {
    const message = messageOf(error);
    log.warn(
      { orgId, message },
      "the namespace of the deleted organization is not ended yet; the job retries",
    );
  }
}

/** Whether a quota limits exactly these counts. Kubernetes shows a limit of 2000 as "2k". */
export function hasLimits({ spec }: Pick<ResourceQuota, "spec">, counts: ObjectCounts): boolean {
  const hard = spec?.hard ?? {};
  return (
    Object.keys(hard).length === Object.keys(counts).length &&
    Object.entries(counts).every(([resource, limit]) => parseCount(hard[resource]) === limit)
  );
}

function parseCount(text = ""): number | undefined {
  const [, digits, suffix = ""] = /^(\d+)([kMG]?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (MULTIPLES[suffix] ?? 1);
}

interface QuotaPlace {
  namespace: string;
  name: string;
}

/**
 * Writes the limits of objects in a Namespace; they hold at once. Where the objects are not counted yet, it writes
 * that there are none: kube-controller-manager counts a moment later, but kinds that it does not know yet minutes
 * later, until when kube-apiserver refuses every object. Throws a KubeError.
 */
export async function applyObjectQuota(
  kube: Pick<KubeClient, "apply" | "mergePatch">,
  place: QuotaPlace,
  counts: ObjectCounts,
  options: { timeoutMs?: number } = {},
): Promise<void> {
  const quota = {
    metadata: { ...place, labels: { [LABEL_MANAGED_BY]: MANAGER_APISERVER } },
    spec: { hard: mapCounts(counts, (resource) => String(counts[resource])) },
  };
  const write = { fieldManager: MANAGER_APISERVER, ...options };
  for (;;) {
    const applied = await kube.apply(resourceQuotaKind, quota, { force: true, ...write });
    const { metadata, spec, status } = applied;
    if (Object.keys(counts).every((resource) => status?.used?.[resource] !== undefined)) return;
    const { resourceVersion } = metadata;
    const counted = { hard: spec?.hard, used: { ...mapCounts(counts, () => "0"), ...status?.used } };
    const patch = { metadata: { resourceVersion }, status: counted };
    const { namespace, name } = place;
    try {
      await kube.mergePatch(resourceQuotaKind, namespace, name, patch, { subresource: "status", ...write });
      return;
    } catch (error) {
      if (!(error instanceof KubeError && error.isConflict)) throw error;
    }
  }
}

function mapCounts(counts: ObjectCounts, toText: (resource: string) => string): Record<string, string> {
  return Object.fromEntries(Object.keys(counts).map((resource) => [resource, toText(resource)]));
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
