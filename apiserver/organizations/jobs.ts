import { LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { formatLimits } from "../../shared/crd/quota.ts";
import { type Namespace, namespaceKind, resourceQuotaKind } from "../../shared/kube/core-kinds.ts";
import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { ENDED_NAMESPACES_JOB, removeEndedNamespaces } from "./ended-namespaces.ts";
import {
  ACCESS_QUOTA,
  applyAccessQuota,
  ensureNamespace,
  limitsOn,
  organizationNamespace,
  readAccessLimit,
} from "./namespace.ts";
import { listWithoutNamespace, readAllQuotas } from "./store.ts";

const BATCH = 100;
const MISSING_EVERY_MS = 15_000;
const ALL_EVERY_MS = 10 * 60_000;
const ENDED_EVERY_MS = 5 * 60_000;

/**
 * Creates and updates Namespaces with their limits: shortly after a change, and periodically those of all
 * organizations. Removes those of deleted organizations.
 */
export function organizationJobs(deps: Deps): PeriodicJob[] {
  return [
    { name: "missing-namespaces", everyMs: MISSING_EVERY_MS, run: () => ensureMissing(deps) },
    { name: "all-namespaces", everyMs: ALL_EVERY_MS, run: () => ensureAll(deps) },
    {
      name: ENDED_NAMESPACES_JOB,
      everyMs: ENDED_EVERY_MS,
      run: (signal) => removeEndedNamespaces(deps, signal),
    },
  ];
}

async function ensureMissing(deps: Deps): Promise<void> {
  for (const orgId of await listWithoutNamespace(deps.db, BATCH)) await ensureNamespace(deps, orgId);
}

async function ensureAll(deps: Deps): Promise<void> {
  const namespaces = await deps.kube.listAll(namespaceKind, { labelSelector: LABEL_ORG_ID });
  const limitsByName = new Map(namespaces.map((namespace) => [namespace.metadata.name, limitsOn(namespace)]));
  for (const { orgId, effective } of await readAllQuotas(deps.db, deps.config.quotas)) {
    if (limitsByName.get(organizationNamespace(orgId)) !== formatLimits(effective))
      await ensureNamespace(deps, orgId);
  }
  await ensureAccessQuotas(
    deps,
    namespaces.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
  );
}

/**
 * Writes quotas that are missing or differ from the configured limit; also in Namespaces that Marina did not make. One that
 * fails, because its Namespace was deleted meanwhile, delays no other.
 */
async function ensureAccessQuotas({ kube, config }: Deps, namespaces: readonly Namespace[]): Promise<void> {
  const quotas = await kube.listAll(resourceQuotaKind, { fieldSelector: `metadata.name=${ACCESS_QUOTA}` });
  const limits = new Map(quotas.map((quota) => [quota.metadata.namespace, readAccessLimit(quota)]));
  const limit = config.maxClusterAccessesPerOrganization;
  const errors: unknown[] = [];
  for (const { metadata } of namespaces)
    if (limits.get(metadata.name) !== limit)
      await applyAccessQuota(kube, metadata.name, limit).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
