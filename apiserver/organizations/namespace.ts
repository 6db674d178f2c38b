import { and, eq, isNull } from "drizzle-orm";
import { ANNOTATION_QUOTAS, LABEL_ORG_ID, MANAGER_APISERVER } from "../../shared/crd/names.ts";
import { formatLimits } from "../../shared/crd/quota.ts";
import { type Namespace, namespaceKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import type { PeriodicJob } from "../jobs/periodic.ts";
import { readQuotas, toQuotas } from "./read-quotas.ts";
import { organizationQuotas, organizations } from "./table.ts";

const BATCH = 100;
const MISSING_EVERY_MS = 15_000;
const ALL_EVERY_MS = 10 * 60_000;

/** The Namespace that holds an organization's objects. */
export function organizationNamespace(orgId: string): string {
  return `org-${orgId}`;
}

/**
 * Makes sure that the organization's Namespace is there and carries its limits, and returns its name: call it before
 * the first write into it. Throws 409 conflict while an earlier Namespace of that name is still being deleted, or a
 * KubeError.
 */
export async function ensureNamespace(
  deps: NamespaceDeps,
  orgId: string,
  options: { timeoutMs?: number } = {},
): Promise<string> {
  const name = organizationNamespace(orgId);
  const limits = await readPublished(deps, orgId);
  const namespace = await deps.kube.get(namespaceKind, undefined, name, options);
  if (namespace?.metadata.deletionTimestamp !== undefined) {
    throw new ApiError("conflict", "The organization's namespace is being deleted; try again.", {
      retryAfterSeconds: 5,
    });
  }
  if (namespace === undefined) await createNamespace(deps, orgId, limits, options);
  else if (limitsOn(namespace) !== limits) await publishLimits(deps, name, limits, options);
  await markReady(deps, orgId);
  return name;
}

type NamespaceDeps = Pick<Deps, "kube" | "db" | "config">;

/** What the Namespace shall say of the organization's limits. */
async function readPublished({ db, config }: NamespaceDeps, orgId: string): Promise<string> {
  const { effective } = await readQuotas(db, config.quotas, orgId);
  return formatLimits(effective);
}

function limitsOn({ metadata }: Namespace): string | undefined {
  return metadata.annotations?.[ANNOTATION_QUOTAS];
}

async function publishLimits(
  { kube }: NamespaceDeps,
  name: string,
  limits: string,
  options: { timeoutMs?: number },
): Promise<void> {
  const patch = { metadata: { annotations: { [ANNOTATION_QUOTAS]: limits } } };
  await kube.mergePatch(namespaceKind, undefined, name, patch, {
    fieldManager: MANAGER_APISERVER,
    ...options,
  });
}

/** The jobs that make missing Namespaces: soon for new organizations, and now and then for all of them. */
export function namespaceJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "missing-namespaces", everyMs: MISSING_EVERY_MS, run: () => ensureMissing(deps) },
    { name: "all-namespaces", everyMs: ALL_EVERY_MS, run: () => ensureAll(deps) },
  ];
}

async function createNamespace(
  deps: Pick<Deps, "kube">,
  orgId: string,
  limits: string,
  options: { timeoutMs?: number },
): Promise<void> {
  const metadata = {
    name: organizationNamespace(orgId),
    labels: { [LABEL_ORG_ID]: orgId },
    annotations: { [ANNOTATION_QUOTAS]: limits },
  };
  try {
    await deps.kube.create(namespaceKind, { metadata }, { fieldManager: MANAGER_APISERVER, ...options });
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
  }
}

/** Writes only when the row does not say so yet: an organization at rest writes nothing. */
async function markReady(deps: Pick<Deps, "db">, orgId: string): Promise<void> {
  await deps.db
    .update(organizations)
    .set({ namespaceReadyAt: new Date() })
    .where(and(eq(organizations.id, orgId), isNull(organizations.namespaceReadyAt)));
}

async function ensureMissing(deps: Deps): Promise<void> {
  const rows = await deps.db
    .select({ id: organizations.id })
    .from(organizations)
    .where(and(isNull(organizations.namespaceReadyAt), isNull(organizations.deletedAt)))
    .limit(BATCH);
  for (const row of rows) await ensureNamespace(deps, row.id);
}

async function ensureAll(deps: Deps): Promise<void> {
  const present = await deps.kube.listAll(namespaceKind, { labelSelector: LABEL_ORG_ID });
  const limitsByName = new Map(present.map((namespace) => [namespace.metadata.name, limitsOn(namespace)]));
  const rows = await deps.db
    .select({ id: organizations.id, quotas: organizationQuotas })
    .from(organizations)
    .leftJoin(organizationQuotas, eq(organizationQuotas.orgId, organizations.id))
    .where(isNull(organizations.deletedAt));
  for (const { id, quotas } of rows) {
    const limits = formatLimits(toQuotas(id, quotas, deps.config.quotas).effective);
    if (limitsByName.get(organizationNamespace(id)) !== limits) await ensureNamespace(deps, id);
  }
}
