import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Plan } from "../../shared/controller/plan.ts";
import { CLOCK_SKEW_MS } from "../../shared/controller/time.ts";
import {
  type ClusterAccess,
  type ClusterAccessStatus,
  clusterAccessKind,
  isIssued,
  nameAccessGroup,
} from "../../shared/crd/cluster-access.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import { isDeleting } from "../identity.ts";
import type { RunContext } from "../run-context.ts";
import type { ServiceAccountName } from "../secret-role.ts";
import { NotAdmittedError, waitUntilAdmitted } from "../tenant/admission.ts";
import { readCertificateAuthority } from "../tenant/authority.ts";
import { composeAccessBinding, ensureBinding, removeBinding } from "../tenant/binding.ts";
import { RequestError, signRequest } from "../tenant/sign.ts";
import type { Signers } from "../tenant/signers.ts";
import type { TenantAccess } from "../tenant/tenant.ts";
import { composeTokenSteps, findIssued, issueByTenant } from "./issue.ts";
import { observeAccess } from "./observe.ts";
import { type AccessDecision, type GrantTarget, reconcileAccess } from "./reconcile.ts";
import { type AccessOutcome, composeAccessStatus, composeTenantUnavailable } from "./status.ts";

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
}

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
  if (observed === undefined || decision === undefined) return undefined;
  const { access } = observed;
  const apply = (parts: Partial<Plan<ClusterAccessStatus>>) =>
    applyPlan({ ...context, kind: clusterAccessKind }, access, composePlan(parts));
  const report = (outcome: AccessOutcome) =>
    apply({ status: composeAccessStatus(access, outcome, deps.now()) });
  switch (decision.kind) {
    case "ignore":
      break;
    case "delete":
      await apply({ remove: [planDeletion(access)] });
      break;
    case "revoke":
      if (decision.target !== undefined) await revoke(deps, decision.target, context.signal);
      await apply({ releaseFinalizer: true });
      break;
    case "reject":
      await report({ ...decision.fault, kind: "rejected" });
      break;
    case "wait":
      await report({ ...decision, kind: "waiting" });
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

function planDeletion({ metadata }: ClusterAccess): Plan<never>["remove"][number] {
  const { namespace = "", name, uid } = metadata;
  return { verb: "delete", kind: clusterAccessKind, namespace, name, uid };
}

async function grant(
  deps: AccessDeps,
  access: ClusterAccess,
  { target, expiresAt }: AccessDecision & { kind: "grant" },
  signal: AbortSignal,
  apply: (parts: Partial<Plan<ClusterAccessStatus>>) => Promise<void>,
): Promise<void> {
  const report = (outcome: AccessOutcome) =>
    apply({ status: composeAccessStatus(access, outcome, deps.now()) });
  const { cluster, tenant, id } = target;
  const { kind } = tenant.authority;
  try {
    const before = findIssued(access);
    const signed =
      before === undefined && kind === "ca"
        ? { certificate: await sign(deps, access, target, expiresAt, signal) }
        : before;
    const issued = await deps.tenants.withTenant(cluster, tenant, signal, async (client) => {
      await ensureBinding(client, composeAccessBinding(id, kind));
      await waitUntilAdmitted(client, { user: access.spec.subject, groups: [nameAccessGroup(id)] });
      const lifetimeMs = expiresAt.getTime() - deps.now().getTime();
      return signed ?? issueByTenant(deps.signers, client, access, id, lifetimeMs);
    });
    if (!("token" in issued)) return await report({ kind: "granted", ...issued, expiresAt });
    const { tokenSecretName, steps } = composeTokenSteps(access, cluster, id, issued.token, deps.apiserver);
    await apply({ apply: steps });
    const endsAt = issued.expiresAt < expiresAt ? issued.expiresAt : expiresAt;
    await report({ kind: "granted", tokenSecretName, expiresAt: endsAt });
  } catch (error) {
    const outcome = describeFailure(access, error);
    if (outcome !== undefined) await report(outcome);
    if (outcome?.kind !== "rejected") throw error;
    deps.issuing.delete(objectKey(access));
  }
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

function describeFailure(access: ClusterAccess, error: unknown): AccessOutcome | undefined {
  if (error instanceof RequestError) {
    const message = `${error.message} Create another access with a new request.`;
    return { kind: "rejected", reason: "InvalidRequest", message };
  }
  if (error instanceof NotAdmittedError) {
    const message = `The API server of ${access.spec.clusterName} does not admit ${access.spec.subject} yet. It is asked again automatically.`;
    return { kind: "waiting", reason: "NotAdmitted", message };
  }
  if (!(error instanceof KubeError) || !error.isUnavailable) return undefined;
  return composeTenantUnavailable(access, error.kubeMessage);
}

/** A cluster that is being deleted takes its bindings with it; in any other one the binding must be removed first. */
async function revoke(
  deps: AccessDeps,
  { cluster, tenant, id }: GrantTarget,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { kind } = tenant.authority;
    const { name } = composeAccessBinding(id, kind).metadata;
    await deps.tenants.withTenant(cluster, tenant, signal, (client) => removeBinding(client, name, kind));
  } catch (error) {
    if (!isDeleting(cluster)) throw error;
  }
}
