import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Plan, type Step } from "../../shared/controller/plan.ts";
import type { StatusThrottle } from "../../shared/controller/status-throttle.ts";
import { nameTokenSecret } from "../../shared/crd/admin-secret.ts";
import {
  type ClusterAccess,
  type ClusterAccessStatus,
  clusterAccessKind,
  isIssued,
  isUserId,
  nameAccessGroup,
} from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import { CLOCK_SKEW_MS } from "../../shared/program/time.ts";
import type { Caches, RunContext } from "../caches.ts";
import { isDeleting } from "../identity/identity.ts";
import { INDEX_CLUSTER } from "../indexes.ts";
import { readCertificateAuthority } from "../tenant/access.ts";
import { waitUntilAdmitted } from "../tenant/admission.ts";
import { composeAccessBinding, ensureBinding, removeBinding } from "../tenant/binding.ts";
import type { AccountToken, Signers } from "../tenant/issue.ts";
import { planSecretRemoval, type ServiceAccountName } from "../tenant/secret-role.ts";
import { signRequest } from "../tenant/sign.ts";
import { type EndedRights, isOfAccess, nameAccessBinding, nameAccessRights } from "../tenant/subjects.ts";
import { removeEndedSubjects, SWEEP_PAUSE_MS, type Sweeps, UnfinishedSweepError } from "../tenant/sweep.ts";
import type { TenantAccess } from "../tenant/tenant.ts";
import type { AccessPart } from "../tenant/tenant-findings.ts";
import { composeTokenSteps, findIssued, type IssuedAccess, issueAccessByTenant } from "./issue.ts";
import { findOutdated, observeAccess } from "./observe.ts";
import {
  type AccessDecision,
  composeExpiryEvents,
  composeRevocationEvents,
  type GrantTarget,
  isLive,
  reconcileAccess,
  wasRevoked,
} from "./reconcile.ts";
import { type AccessOutcome, composeAccessStatus, composeFailure, ownAccessStatus } from "./status.ts";

export interface AccessDeps {
  client: Pick<KubeClient, "get">;
  caches: Caches;
  now(): Date;
  tenants: Pick<TenantAccess, "withTenant">;
  signers: Pick<Signers, "request">;
  /** Who may read the tokens. */
  apiserver: ServiceAccountName;
  /**
   * The keys of accesses that are being issued until the cache shows their certificate: they count against the limit, which
   * several at once would else exceed.
   */
  issuing: Set<string>;
  throttle: StatusThrottle;
  sweeps: Sweeps;
}

type Apply = (parts: Partial<Plan<ClusterAccessStatus>>) => Promise<void>;

/**
 * Reconciles one access. The binding is created, and admits its user, before the certificate is published; it is removed
 * before the object is deleted. Rejects with the KubeError of either API server; running it again is safe.
 */
export async function runAccess(
  deps: AccessDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const now = deps.now();
  const observed = observeAccess(deps.caches, deps.issuing, key);
  const decision = observed && reconcileAccess(observed, now);
  // In one go with the observation: no other access is decided on in between.
  if (decision?.kind === "grant" && observed !== undefined && !isIssued(observed.access))
    deps.issuing.add(key);
  else deps.issuing.delete(key);
  if (observed === undefined || decision === undefined) {
    deps.sweeps.delete(key);
    return undefined;
  }
  const { access } = observed;
  const apply: Apply = (parts) =>
    applyPlan({ ...context, kind: clusterAccessKind }, access, composePlan(parts));
  switch (decision.kind) {
    case "ignore":
      break;
    case "delete":
      await apply({
        remove: [planDeletion(access)],
        events: composeExpiryEvents(access, observed.cluster),
      });
      break;
    case "revoke":
      if (decision.target !== undefined) {
        const isDone = await revoke(deps, access, decision.target, context.signal, apply);
        if (!isDone) return { requeueAfterMs: SWEEP_PAUSE_MS };
      }
      await apply({
        remove: planTokenRemoval(access),
        events: composeRevocationEvents(access, decision.target, now),
        releaseFinalizer: true,
      });
      break;
    case "reject":
      await report(deps, access, { ...decision.problem, kind: "rejected" }, apply);
      break;
    case "wait":
      await report(deps, access, { ...decision, kind: "waiting" }, apply);
      break;
    case "label":
      await apply({ metadata: decision.metadata });
      break;
    default:
      await grant(deps, access, decision, context.signal, apply);
  }
  return "expiresAt" in decision && decision.expiresAt !== undefined
    ? { requeueAfterMs: decision.expiresAt.getTime() - now.getTime() }
    : undefined;
}

/** An access with a certificate has no Secret. */
function planTokenRemoval({ metadata, status }: ClusterAccess): Step[] {
  const id = metadata.labels?.[LABEL_ID];
  if (id === undefined || status?.certificate !== undefined) return [];
  return planSecretRemoval(metadata.namespace ?? "", nameTokenSecret(id));
}

function planDeletion({ metadata }: ClusterAccess): Plan<never>["remove"][number] {
  const { namespace = "", name, uid } = metadata;
  return { verb: "delete", kind: clusterAccessKind, namespace, name, uid };
}

async function grant(
  deps: AccessDeps,
  access: ClusterAccess,
  { target, expiresAt }: AccessDecision & { kind: "grant" },
  signal: AbortSignal,
  apply: Apply,
): Promise<void> {
  const { cluster, tenant, id } = target;
  const { kind } = tenant.accessSource;
  let part: AccessPart = "kubeconfig";
  let issued: IssuedAccess | AccountToken;
  try {
    const before = findIssued(access);
    const signed =
      before === undefined && kind === "ca"
        ? { certificate: await sign(deps, access, target, expiresAt, signal) }
        : before;
    issued = await deps.tenants.withTenant(cluster, tenant, signal, async (client) => {
      part = "bindings";
      await ensureBinding(client, composeAccessBinding(id, kind));
      await waitUntilAdmitted(client, { user: access.spec.subject, groups: [nameAccessGroup(id)] });
      part = "kubeconfig";
      const lifetimeMs = expiresAt.getTime() - deps.now().getTime();
      return signed ?? issueAccessByTenant(deps.signers, client, access, id, lifetimeMs);
    });
  } catch (error) {
    const isRejected =
      (await reportFailure(deps, { access, cluster }, part, error, apply))?.kind === "rejected";
    if (!isRejected) throw error;
    deps.issuing.delete(objectKey(access));
    return;
  }
  await publish(deps, access, target, { issued, expiresAt }, apply);
}

/** A certificate is published in the status, a token in a Secret. */
async function publish(
  deps: AccessDeps,
  access: ClusterAccess,
  { cluster, id }: GrantTarget,
  { issued, expiresAt }: { issued: IssuedAccess | AccountToken; expiresAt: Date },
  apply: Apply,
): Promise<void> {
  if (!("token" in issued)) return report(deps, access, { kind: "granted", ...issued, expiresAt }, apply);
  const { tokenSecretName, steps } = composeTokenSteps(access, cluster, id, issued.token, deps.apiserver);
  await apply({ write: steps });
  const endsAt = issued.expiresAt < expiresAt ? issued.expiresAt : expiresAt;
  await report(deps, access, { kind: "granted", tokenSecretName, expiresAt: endsAt }, apply);
}

async function report(
  deps: AccessDeps,
  access: ClusterAccess,
  outcome: AccessOutcome,
  apply: Apply,
): Promise<void> {
  await apply({ status: composeAccessStatus(access, outcome, deps.now()) });
}

/**
 * Another message alone is written only now and then: a tenant's API server may word each of its answers differently, and
 * every change of an access runs it at once, without backoff.
 */
async function reportFailure(
  deps: AccessDeps,
  { access, cluster }: Parameters<typeof composeFailure>[0],
  part: AccessPart,
  error: unknown,
  apply: Apply,
): Promise<AccessOutcome | undefined> {
  const outcome = composeFailure({ access, cluster }, part, error);
  if (outcome === undefined) return undefined;
  const status = composeAccessStatus(access, outcome, deps.now());
  const key = objectKey(access);
  const plan = deps.throttle.limit(key, ownAccessStatus(access.status), composePlan({ status }));
  await apply(plan);
  deps.throttle.noteApplied(key, plan);
  return outcome;
}

async function sign(
  deps: AccessDeps,
  access: ClusterAccess,
  { cluster, id }: GrantTarget,
  expiresAt: Date,
  signal: AbortSignal,
): Promise<string> {
  const { certificate } = await signRequest(access.spec.csr, {
    ca: await readCertificateAuthority(deps, cluster, signal),
    commonName: access.spec.subject,
    organization: nameAccessGroup(id),
    notBefore: new Date(deps.now().getTime() - CLOCK_SKEW_MS),
    notAfter: expiresAt,
  });
  return certificate;
}

/**
 * The user whose last access this was: the bindings that the tenant made for the name end with it. An access that has expired
 * ends no person's right.
 */
function findEndedUser({ caches }: AccessDeps, access: ClusterAccess, now: Date): string | undefined {
  const { subject, clusterName } = access.spec;
  // Any other name may be one of the tenant's own identity provider, too.
  if (!wasRevoked(access, now) || !isUserId(subject)) return undefined;
  const clusterKey = toKey(access.metadata.namespace, clusterName);
  const isOutdated = findOutdated(caches, clusterKey);
  const isHeld = caches.accesses
    .byIndex(INDEX_CLUSTER, clusterKey)
    .some((other) => other.spec.subject === subject && isLive(other, now) && !isOutdated(other));
  return isHeld ? undefined : subject;
}

function decideEnded(deps: AccessDeps, access: ClusterAccess, id: string): EndedRights {
  const user = findEndedUser(deps, access, deps.now());
  const isEnded = isOfAccess(nameAccessRights(id), user);
  return { isEnded, isLeftOver: (name) => name === nameAccessBinding(id), revision: user ?? "" };
}

/**
 * A cluster that is being deleted takes its bindings with it; in any other one the binding must be removed first. False when
 * there are more bindings than were read at once.
 */
async function revoke(
  deps: AccessDeps,
  access: ClusterAccess,
  { cluster, tenant, id }: GrantTarget,
  signal: AbortSignal,
  apply: Apply,
): Promise<boolean> {
  try {
    const { kind } = tenant.accessSource;
    const { name } = composeAccessBinding(id, kind).metadata;
    await deps.tenants.withTenant(cluster, tenant, signal, async (client) => {
      await removeBinding(client, name, kind);
      await removeEndedSubjects(client, () => decideEnded(deps, access, id), {
        sweeps: deps.sweeps,
        key: objectKey(access),
      });
    });
    return true;
  } catch (error) {
    if (isDeleting(cluster)) return true;
    await reportFailure(deps, { access, cluster }, "bindings", error, apply);
    if (error instanceof UnfinishedSweepError) return false;
    throw error;
  }
}
