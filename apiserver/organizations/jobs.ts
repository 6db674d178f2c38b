import {
  LABEL_MANAGED_BY,
  LABEL_ORG_ID,
  MANAGER_APISERVER,
  MANAGER_OPERATOR,
} from "../../shared/crd/names.ts";
import type { QuotaAmounts } from "../../shared/crd/quota.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { type Namespace, namespaceKind, resourceQuotaKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Kind, KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import { doAsSystem } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import { collectErrors, type PeriodicJob, throwFirst } from "../work/periodic.ts";
import {
  applyObjectQuota,
  endNamespace,
  ensureNamespace,
  hasLimits,
  objectLimitsOf,
  organizationNamespace,
  showsPublished,
} from "./namespace.ts";
import { listWithoutNamespace, readAllPublished } from "./namespace-store.ts";
import { findDeletedOrganizations } from "./store.ts";

const MISSING_EVERY_MS = 15_000;
const ALL_EVERY_MS = 10 * 60_000;
const ENDED_EVERY_MS = 5 * 60_000;

/**
 * Creates and updates Namespaces with their names and limits: shortly after a change, and periodically those of all
 * organizations. Removes those of deleted organizations.
 */
export function organizationJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "missing-namespaces", everyMs: MISSING_EVERY_MS, run: (signal) => ensureMissing(deps, signal) },
    { name: "all-namespaces", everyMs: ALL_EVERY_MS, run: (signal) => ensureAll(deps, signal) },
    {
      name: ENDED_NAMESPACES_JOB,
      everyMs: ENDED_EVERY_MS,
      run: (signal) => removeEndedNamespaces(deps, signal),
    },
  ];
}

async function ensureMissing(deps: Deps, signal: AbortSignal): Promise<void> {
  const orgIds = await listWithoutNamespace(deps.db);
  throwFirst(await collectErrors(orgIds, signal, (orgId) => ensureNamespace(deps, orgId)));
}

async function ensureAll(deps: Deps, signal: AbortSignal): Promise<void> {
  const namespaces = await deps.kube.listAll(namespaceKind, { labelSelector: LABEL_ORG_ID });
  const byName = new Map(namespaces.map((namespace) => [namespace.metadata.name, namespace]));
  const published = await readAllPublished(deps.db, deps.config.quotas);
  const outdated = published.filter((organization) => {
    const namespace = byName.get(organizationNamespace(organization.quotas.orgId));
    return namespace === undefined || !showsPublished(namespace, organization);
  });
  const errors = await collectErrors(outdated, signal, ({ quotas }) => ensureNamespace(deps, quotas.orgId));
  const limited = namespaces.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const quotasByOrg = new Map(published.map(({ quotas }) => [quotas.orgId, quotas.effective]));
  throwFirst([...errors, ...(await ensureObjectQuotas(deps, limited, quotasByOrg, signal))]);
}

/**
 * Writes the limits of objects that are missing or differ from the organization's; also in Namespaces that Marina did
 * not make, which get those of an organization for which no quotas are set. Resolves to the errors of those that
 * failed, because their Namespace was deleted meanwhile.
 */
async function ensureObjectQuotas(
  { kube, config }: Deps,
  namespaces: readonly Namespace[],
  quotasByOrg: ReadonlyMap<string, QuotaAmounts>,
  signal: AbortSignal,
): Promise<unknown[]> {
  const labelSelector = `${LABEL_MANAGED_BY}=${MANAGER_APISERVER}`;
  const live = await kube.listAll(resourceQuotaKind, { labelSelector });
  const quotas = new Map(live.map((quota) => [toKey(quota.metadata.namespace, quota.metadata.name), quota]));
  const wanted = namespaces.flatMap(({ metadata }) => {
    const amounts = quotasByOrg.get(metadata.labels?.[LABEL_ORG_ID] ?? "") ?? config.quotas;
    const limits = objectLimitsOf(amounts, config.maxClusterAccessesPerOrganization);
    return Object.entries(limits).map(([name, counts]) => ({ namespace: metadata.name, name, counts }));
  });
  const outdated = wanted.filter(({ namespace, name, counts }) => {
    const quota = quotas.get(toKey(namespace, name));
    return quota === undefined || !hasLimits(quota, counts);
  });
  return collectErrors(outdated, signal, ({ counts, ...place }) => applyObjectQuota(kube, place, counts));
}

const LABEL_ORG_ID_FIELD = `f:${LABEL_ORG_ID}`;

/** Also the actor of the audit entries. */
const ENDED_NAMESPACES_JOB = "ended-namespaces";

type EndDeps = Pick<Deps, "kube" | "db" | "log">;

/**
 * Ends the Namespaces of deleted organizations (`endNamespace`), and removes those that hold only the StorageInventory and what
 * Kubernetes and Marina put into every Namespace. One that Marina did not make is not removed; none is removed when the API
 * server may not list every kind. Each removal is in the audit log. An object created between the list and the deletion is
 * lost: creating one takes rights in all Namespaces, since a binding in this one prevents its removal. Rejects with a KubeError.
 */
export async function removeEndedNamespaces(deps: EndDeps, signal: AbortSignal): Promise<void> {
  const namespaces = await deps.kube.listAll(namespaceKind, { labelSelector: LABEL_ORG_ID, signal });
  const candidates = namespaces.filter(isOfOrganization);
  if (candidates.length === 0) return;
  const deleted = await findDeletedOrganizations(deps.db, candidates.map(organizationOf));
  const found = candidates.filter((namespace) => deleted.has(organizationOf(namespace)));
  const ended: Namespace[] = [];
  const errors = await collectErrors(found, signal, async (namespace) => {
    const live = await endNamespace(deps.kube, namespace, { signal });
    if (isMadeByMarina(live)) ended.push(live);
  });
  await removeEmpty(deps, ended, signal);
  throwFirst(errors);
}

async function removeEmpty(deps: EndDeps, ended: readonly Namespace[], signal: AbortSignal): Promise<void> {
  if (ended.length === 0) return;
  const kinds = await deps.kube.listKinds({ signal });
  try {
    for (const namespace of ended) await removeIfEmpty(deps, namespace, kinds, signal);
  } catch (error) {
    if (!(error instanceof KubeError && error.status === 403)) throw error;
    deps.log.info(
      { message: error.message },
      "namespaces of deleted organizations stay: no right to look into them",
    );
  }
}

async function removeIfEmpty(
  { kube, db, log }: EndDeps,
  namespace: Namespace,
  kinds: readonly Kind<KubeObject>[],
  signal: AbortSignal,
): Promise<void> {
  const { name, uid, resourceVersion } = namespace.metadata;
  for (const kind of kinds) {
    const objects = await kube.listAll(kind, { namespace: name, signal });
    const other = objects.find((object) => !isExpected(kind, object.metadata));
    if (other === undefined) continue;
    log.info(
      { namespace: name, kind: kind.kind, object: other.metadata.name },
      "ended namespace is not empty",
    );
    return;
  }
  try {
    const target = { kind: "namespace", id: name } as const;
    const entry = { action: "namespace.delete", orgId: organizationOf(namespace), target, before: { uid } };
    await doAsSystem(db, ENDED_NAMESPACES_JOB, entry, () =>
      kube.delete(namespaceKind, undefined, name, { uid, resourceVersion, signal }),
    );
    log.info({ namespace: name }, "removed the namespace of a deleted organization");
  } catch (error) {
    // It has changed since it was read: the next run looks again.
    if (!(error instanceof KubeError && error.isConflict)) throw error;
  }
}

/** Whether it is the Namespace of the organization in its label, by any client, and is not being deleted. */
function isOfOrganization({ metadata }: Namespace): boolean {
  const orgId = metadata.labels?.[LABEL_ORG_ID] ?? "";
  return metadata.deletionTimestamp === undefined && metadata.name === organizationNamespace(orgId);
}

/** Whether Marina wrote the label of the organization, and no one else made a Namespace of that name before. */
function isMadeByMarina({ metadata }: Namespace): boolean {
  return (
    metadata.managedFields?.some(
      (entry) => entry.manager === MANAGER_APISERVER && ownsLabel(entry.fieldsV1),
    ) === true
  );
}

function ownsLabel(fields: Record<string, unknown> | undefined): boolean {
  const metadata = fields?.["f:metadata"] as Record<string, unknown> | undefined;
  const labels = metadata?.["f:labels"] as Record<string, unknown> | undefined;
  return labels !== undefined && LABEL_ORG_ID_FIELD in labels;
}

function organizationOf({ metadata }: Namespace): string {
  return metadata.labels?.[LABEL_ORG_ID] ?? "";
}

const PUT_BY_KUBERNETES = new Set(["/ServiceAccount/default", "/ConfigMap/kube-root-ca.crt"]);
const PUT_BY_MARINA = new Set([
  "/ResourceQuota",
  "rbac.authorization.k8s.io/Role",
  "rbac.authorization.k8s.io/RoleBinding",
]);

/** Whether an object does not keep the Namespace: Events expire by themselves. */
function isExpected({ group, kind }: Kind<KubeObject>, { name, labels }: ObjectMeta): boolean {
  if (kind === "Event" && (group === "" || group === "events.k8s.io")) return true;
  if (group === storageInventoryKind.group && kind === storageInventoryKind.kind) {
    return name === STORAGE_INVENTORY_NAME;
  }
  const manager = labels?.[LABEL_MANAGED_BY];
  const isMarinas = manager === MANAGER_APISERVER || manager === MANAGER_OPERATOR;
  return (
    PUT_BY_KUBERNETES.has(`${group}/${kind}/${name}`) || (isMarinas && PUT_BY_MARINA.has(`${group}/${kind}`))
  );
}
