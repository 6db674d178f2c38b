import { ANNOTATION_QUOTAS, LABEL_ORG_ID, MANAGER_APISERVER } from "../../shared/crd/names.ts";
import { formatLimits } from "../../shared/crd/quota.ts";
import { type Namespace, namespaceKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import { applyAccessQuota } from "./access-quota.ts";
import { ensureInventory } from "./inventory.ts";
import { markNamespaceReady, readQuotas } from "./store.ts";

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
 * it before the first write into it. A new one gets its limit of accesses and its StorageInventory too. Throws 409 conflict while an earlier Namespace of that name is being deleted, or a
 * KubeError.
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
    await applyAccessQuota(kube, name, config.maxClusterAccessesPerOrganization, options);
    await ensureInventory(kube, { namespace: name, orgId }, options);
  } else if (limitsOn(namespace) !== limits) {
    await kube.mergePatch(namespaceKind, undefined, name, { metadata: { annotations } }, writeOptions);
  }
  await markNamespaceReady(db, orgId);
  return name;
}

/** The same as far as it can be done quickly; otherwise the periodic job does it. Does not throw. */
export async function tryEnsureNamespace(
  deps: NamespaceDeps & Pick<Deps, "log">,
  orgId: string,
): Promise<void> {
  try {
    await ensureNamespace(deps, orgId, { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    deps.log.warn({ orgId, message }, "namespace is not up to date yet; the job retries");
  }
}

function ignoreAlreadyExists(error: unknown): void {
  if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
}
