import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, type Plan, type PlanContext } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import {
  type ClusterAccess,
  type ClusterAccessStatus,
  clusterAccessKind,
} from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { createId } from "../../shared/id.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Caches } from "../caches.ts";
import { findMissingMetadata, findOlderTwin, findOrganization } from "../identity.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { type AccessDecision, type ObservedAccess, reconcileAccess } from "./reconcile.ts";
import { RequestError, signRequest } from "./sign.ts";
import { type AccessOutcome, composeAccessStatus } from "./status.ts";
import { findTenant, readAuthority, type TenantAccess } from "./tenant.ts";
import { composeAccessBinding, ensureBinding, nameAccessGroup, removeBinding } from "./tenant-binding.ts";

export interface GrantDeps {
  client: Pick<KubeClient, "get" | "delete">;
  caches: Caches;
  now(): Date;
  tenants: Pick<TenantAccess, "withTenant">;
}

/** What a plan of this key is carried out with. */
type Context = Omit<PlanContext<never>, "kind">;

/** Clocks of the tenant's machines may be behind. */
const CLOCK_SKEW_MS = 5 * 60_000;

/**
 * One round for one access. The object is the right: it is given before the certificate is shown, and taken away before
 * the object goes. Rejects with the KubeError of whoever refused; running it again is safe.
 */
export async function runGrant(deps: GrantDeps, key: string, context: Context): Promise<ReconcileResult> {
  const now = deps.now();
  const observed = observeAccess(deps.caches, key);
  if (observed === undefined) return undefined;
  const { access } = observed;
  const decision = reconcileAccess(observed, now);
  switch (decision.kind) {
    case "ignore":
      return undefined;
    case "delete": {
      const { namespace, name, uid } = access.metadata;
      await deps.client.delete(clusterAccessKind, namespace, name, { uid, signal: context.signal });
      return undefined;
    }
    case "revoke":
      await revoke(deps, observed, context.signal);
      await finish(context, observed, { releaseFinalizer: true });
      return undefined;
    case "refuse":
      await report(deps, context, observed, { ...decision.fault, kind: "refused" });
      return undefined;
    case "wait":
      await report(deps, context, observed, { ...decision, kind: "waiting" });
      return { requeueAfterMs: decision.expiresAt.getTime() - now.getTime() };
    default:
      await grant(deps, context, observed, decision);
      return { requeueAfterMs: decision.expiresAt.getTime() - now.getTime() };
  }
}

function observeAccess(caches: Caches, key: string): ObservedAccess | undefined {
  const access = caches.accesses.get(key);
  if (access === undefined) return undefined;
  const { namespace } = access.metadata;
  const clusterKey = `${namespace}/${access.spec.clusterName}`;
  return {
    access,
    organization: findOrganization(caches.namespaces, namespace),
    olderTwin: findOlderTwin(caches.accesses, access.metadata),
    cluster: caches.clusters.get(clusterKey),
    reachable: findTenant(caches, clusterKey)?.state.controlPlaneInitialized === true,
    siblings: caches.accesses
      .byIndex(INDEX_CLUSTER, clusterKey)
      .filter(
        (other) => other.metadata.uid !== access.metadata.uid && other.spec.subject === access.spec.subject,
      ),
  };
}

/** Identity and finalizer first: a right without an object that stands for it could never be taken away. */
async function grant(
  deps: GrantDeps,
  context: Context,
  observed: ObservedAccess,
  decision: AccessDecision & { kind: "grant" },
): Promise<void> {
  const { signal } = context;
  const { access, cluster, organization } = observed;
  const id = access.metadata.labels?.[LABEL_ID];
  const missing =
    organization.kind === "known"
      ? findMissingMetadata(access.metadata, organization.id, createId())
      : undefined;
  if (missing !== undefined || id === undefined || cluster === undefined) {
    await finish(context, observed, { metadata: missing });
    return;
  }
  const { expiresAt } = decision;
  try {
    const certificate =
      access.status?.certificate ?? (await sign(deps, access, cluster, id, expiresAt, signal));
    await inTenant(deps, cluster, signal, (tenant) => ensureBinding(tenant, composeAccessBinding(id)));
    await report(deps, context, observed, { kind: "granted", certificate, expiresAt });
  } catch (error) {
    const outcome = describeFailure(access, error);
    if (outcome !== undefined) await report(deps, context, observed, outcome);
    if (outcome?.kind !== "refused") throw error;
  }
}

async function sign(
  deps: GrantDeps,
  access: ClusterAccess,
  cluster: Cluster,
  id: string,
  expiresAt: Date,
  signal: AbortSignal,
): Promise<string> {
  const { certificate } = await signRequest(access.spec.csr, {
    ca: await readAuthority(deps, cluster, signal),
    commonName: access.spec.subject,
    organization: nameAccessGroup(id),
    notBefore: new Date(deps.now().getTime() - CLOCK_SKEW_MS),
    notAfter: expiresAt,
  });
  return certificate;
}

function describeFailure(access: ClusterAccess, error: unknown): AccessOutcome | undefined {
  if (error instanceof RequestError) {
    const message = `${error.message} Create another access with a new request.`;
    return { kind: "refused", reason: "InvalidRequest", message };
  }
  if (!(error instanceof KubeError) || !error.isUnavailable) return undefined;
  const message = `The API server of ${access.spec.clusterName} does not answer: ${error.kubeMessage}. It is asked again by itself.`;
  return { kind: "waiting", reason: "ControlPlaneUnavailable", message };
}

/** A cluster that is gone, or going, takes its rights along; of any other one the binding must be gone first. */
async function revoke(deps: GrantDeps, observed: ObservedAccess, signal: AbortSignal): Promise<void> {
  const { access, cluster } = observed;
  const id = access.metadata.labels?.[LABEL_ID];
  if (cluster === undefined || id === undefined || observed.olderTwin !== undefined) return;
  if (!observed.reachable) return;
  try {
    const { name } = composeAccessBinding(id).metadata;
    await inTenant(deps, cluster, signal, (tenant) => removeBinding(tenant, name));
  } catch (error) {
    if (cluster.metadata.deletionTimestamp === undefined) throw error;
  }
}

async function inTenant(
  deps: GrantDeps,
  cluster: Cluster,
  signal: AbortSignal,
  use: (tenant: KubeClient) => Promise<void>,
): Promise<void> {
  const found = findTenant(deps.caches, `${cluster.metadata.namespace}/${cluster.metadata.name}`);
  if (found === undefined) throw new Error("the tenant's address is not known any more");
  await deps.tenants.withTenant(cluster, found, signal, use);
}

async function report(
  deps: GrantDeps,
  context: Context,
  observed: ObservedAccess,
  outcome: AccessOutcome,
): Promise<void> {
  await finish(context, observed, { status: composeAccessStatus(observed.access, outcome, deps.now()) });
}

async function finish(
  context: Context,
  { access }: ObservedAccess,
  change: Partial<Plan<ClusterAccessStatus>>,
): Promise<void> {
  await applyPlan({ ...context, kind: clusterAccessKind }, access, {
    metadata: undefined,
    apply: [],
    remove: [],
    status: undefined,
    events: [],
    releaseFinalizer: false,
    requeueAfterMs: undefined,
    ...change,
  });
}
