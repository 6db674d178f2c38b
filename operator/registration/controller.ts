import { findCondition } from "../../shared/controller/conditions.ts";
import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, composePlan, type Step } from "../../shared/controller/plan.ts";
import { clusterOfAdminSecret } from "../../shared/crd/admin-secret.ts";
import {
  type Cluster,
  clusterKind,
  type RegistrationPart,
  registrationParts,
} from "../../shared/crd/cluster.ts";
import {
  type ClusterAccess,
  clusterAccessKind,
  findExpiry,
  MAX_ACCESS_TTL_SECONDS,
  nameAccessGroup,
} from "../../shared/crd/cluster-access.ts";
import { idOf } from "../../shared/crd/identity.ts";
import {
  ANNOTATION_ALLOWED_REGISTRATION,
  ANNOTATION_IDENTITY,
  API_VERSION,
  FINALIZER,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
  LABEL_REGISTRATION,
} from "../../shared/crd/names.ts";
import { findNamespaceOrganization } from "../../shared/crd/organization.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { objectKey, splitKey, toKey } from "../../shared/kube/object.ts";
import { createId } from "../../shared/program/id.ts";
import { earliest } from "../../shared/program/time.ts";
import { observeAdminKubeconfig } from "../admin-kubeconfig/observe.ts";
import { type CacheSet, type Caches, enqueueTo, type RunContext } from "../caches.ts";
import { hasFinalizer } from "../identity/identity.ts";
import { INDEX_CLUSTER, INDEX_NAMESPACE, INDEX_REGISTRATION } from "../indexes.ts";
import { isTenantChanged } from "../tenant/access.ts";
import type { ServiceAccountName } from "../tenant/secret-role.ts";
import { createRequest } from "../tenant/sign.ts";
import type { FindingsStore } from "../tenant/tenant-findings.ts";
import { syncClusterProfile } from "./cluster-profile.ts";
import { composeRegistrationFailure } from "./failure.ts";
import {
  type ObservedRegistration,
  type RegistrationDecision,
  reconcileRegistration,
  summarize,
} from "./reconcile.ts";
import {
  composeRegistrationSecret,
  findRegistered,
  placeSecret,
  type RegistrationBasis,
  readIssued,
} from "./secret.ts";

/** The user in the cluster, of whatever part: no member of an organization. */
const REGISTRATION_SUBJECT = "registration";

export interface RegistrationDeps {
  client: Pick<KubeClient, "get">;
  caches: Caches;
  apiserver: ServiceAccountName;
  argoCDNamespace: string | undefined;
  tenantFindings: Pick<FindingsStore, "recordRegistration">;
  now(): Date;
  /** By "namespace/cluster part": the access that this process has asked for, and its private key (PEM). */
  keys: Map<string, { access: string; key: string }>;
}

/**
 * Reconciles the registration of one cluster: an access of its own (ClusterAccess) for each wanted part, whose credential is
 * written to a Secret and renewed at two thirds of its life; what is not wanted or allowed any more is removed. A private key
 * is nowhere but in this process until its access is issued: another process asks for another access. Running it again is safe.
 */
export async function runRegistration(
  deps: RegistrationDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const now = deps.now();
  const observed = observeRegistration(deps, key);
  const results: Pick<RegistrationDecision, "outcome" | "requeueAfterMs">[] = [];
  const errors: unknown[] = [];
  for (const decision of reconcileRegistration(observed, now)) {
    const { part, needsKey, outcome, requeueAfterMs } = decision;
    if (!needsKey) deps.keys.delete(`${key} ${part}`);
    try {
      await carryOut(deps, observed, decision, context);
      results.push({ outcome, requeueAfterMs });
    } catch (error) {
      const failure = composeRegistrationFailure(part, error);
      if (failure === undefined) throw error;
      // The condition of a deleted cluster is not read.
      results.push(observed.cluster === undefined ? { outcome, requeueAfterMs } : failure);
      if (failure.requeueAfterMs === undefined) errors.push(error);
    }
  }
  const outcome = summarize(results.map((result) => result.outcome));
  const parts = registrationParts.filter((part) => observed.cluster?.spec.registration?.[part] === true);
  deps.tenantFindings.recordRegistration(key, outcome && { ...outcome, parts });
  if (errors.length > 0) throw errors[0];
  return { requeueAfterMs: earliest(results.map(({ requeueAfterMs }) => requeueAfterMs)) };
}

/** Gathers it from the caches. */
function observeRegistration(
  { caches, apiserver, argoCDNamespace, keys }: RegistrationDeps,
  key: string,
): ObservedRegistration {
  const { namespace = "" } = splitKey(key);
  const allowed = caches.namespaces.get(namespace)?.metadata.annotations?.[ANNOTATION_ALLOWED_REGISTRATION];
  return {
    key,
    cluster: caches.clusters.get(key),
    basis: findBasis(caches, apiserver, key),
    allowed: new Set(allowed?.split(",").map((part) => part.trim())),
    argoCDNamespace,
    secrets: caches.issuedCredentials.byIndex(INDEX_REGISTRATION, key),
    accesses: caches.accesses
      .byIndex(INDEX_CLUSTER, key)
      .filter(({ metadata }) => metadata.labels?.[LABEL_REGISTRATION] !== undefined),
    hasKeyOf: (access) => [...keys.values()].some((one) => one.access === access),
  };
}

function findBasis(
  caches: Caches,
  apiserver: ServiceAccountName,
  key: string,
): RegistrationBasis | undefined {
  const { clusterId, tenant, credential } = observeAdminKubeconfig(caches, apiserver, key) ?? {};
  const caCertificate = credential?.data?.["ca.crt"];
  if (tenant?.state.controlPlaneInitialized !== true) return undefined;
  if (clusterId === undefined || caCertificate === undefined) return undefined;
  return { clusterId, server: tenant.server, caCertificate };
}

async function carryOut(
  deps: RegistrationDeps,
  observed: ObservedRegistration,
  { part, remove, isRequest, publish, profile }: RegistrationDecision,
  context: RunContext,
): Promise<void> {
  const { cluster, key, basis } = observed;
  if (profile !== undefined && profile.desired === undefined) {
    // The credential is refused before all else. The Secret goes last, for where there is one there may be a profile.
    const isSecret = (step: Step) => step.kind.kind === secretKind.kind;
    await applySteps(context, key, { remove: remove.filter((step) => !isSecret(step)) });
    await syncClusterProfile(deps.client, key, undefined, context);
    await applySteps(context, key, { remove: remove.filter(isSecret) });
    return;
  }
  const write: Step[] = [];
  if (isRequest) write.push(await requestAccess(deps, observed, part));
  if (publish !== undefined && cluster !== undefined && basis !== undefined) {
    const credential = await readIssued(
      deps.client,
      publish,
      deps.keys.get(`${key} ${part}`)?.key,
      context.signal,
    );
    const place = placeSecret(part, key, deps.argoCDNamespace ?? "");
    const issued = { access: publish.metadata.name, credential, expiresAt: findExpiry(publish) };
    const object = composeRegistrationSecret(part, cluster, place, basis, issued, deps.now());
    const isNew = !observed.secrets.some(
      ({ metadata }) => toKey(metadata.namespace, metadata.name) === toKey(place.namespace, place.name),
    );
    write.push({ verb: "apply", kind: secretKind as Kind<KubeObject>, object, isNew });
  }
  // What is in the way of a Secret that is written is removed first.
  const [before, after] = publish === undefined ? [[], remove] : [remove, []];
  await applySteps(context, key, { write: [...before, ...write], remove: after });
  if (publish !== undefined) deps.keys.delete(`${key} ${part}`);
  if (profile?.desired !== undefined) await syncClusterProfile(deps.client, key, profile.desired, context);
}

async function applySteps(
  context: RunContext,
  key: string,
  { write = [], remove }: { write?: Step[]; remove: Step[] },
): Promise<void> {
  if (write.length === 0 && remove.length === 0) return;
  // No step is one of the Cluster itself, which may be deleted.
  const object = { apiVersion: API_VERSION, kind: clusterKind.kind, metadata: { name: key } };
  await applyPlan(
    { ...context, kind: clusterKind as Kind<KubeObject> },
    object,
    composePlan({ write, remove }),
  );
}

/** An access for a key that is made here, in the form in which REST creates one: with its id in the request. */
async function requestAccess(
  deps: RegistrationDeps,
  { key, basis }: ObservedRegistration,
  part: RegistrationPart,
): Promise<Step> {
  const { namespace = "", name } = splitKey(key);
  const organization = findNamespaceOrganization(deps.caches.namespaces, namespace);
  const id = createId();
  const request = await createRequest(REGISTRATION_SUBJECT, nameAccessGroup(id));
  // The end of an id is random, and an access has a short name.
  const access = `${REGISTRATION_SUBJECT}-${id.replaceAll("-", "").slice(-20)}`;
  deps.keys.set(`${key} ${part}`, { access, key: request.key });
  const object: ClusterAccess = {
    apiVersion: API_VERSION,
    kind: clusterAccessKind.kind,
    metadata: {
      namespace,
      name: access,
      labels: {
        [LABEL_ID]: id,
        ...(organization.kind === "known" && { [LABEL_ORG_ID]: organization.id }),
        [LABEL_CLUSTER_ID]: basis?.clusterId ?? "",
        [LABEL_REGISTRATION]: part,
      },
      annotations: { [ANNOTATION_IDENTITY]: "new" },
      finalizers: [FINALIZER],
    },
    spec: {
      clusterName: name,
      subject: REGISTRATION_SUBJECT,
      ttlSeconds: MAX_ACCESS_TTL_SECONDS,
      notAfter: new Date(deps.now().getTime() + MAX_ACCESS_TTL_SECONDS * 1000).toISOString(),
      csr: request.csr,
    },
  };
  return { verb: "create", kind: clusterAccessKind as Kind<KubeObject>, object };
}

/** Adds the key of a cluster for every change that its registration depends on. */
export function watchRegistrations(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  cacheSet.listen("clusters", (change) => {
    const { type, previous, object } = change;
    if (
      type !== "updated" ||
      previous === undefined ||
      summarizeCluster(previous) !== summarizeCluster(object)
    )
      add(objectKey(object), change);
  });
  cacheSet.listen("capiClusters", (change) => {
    if (isTenantChanged(change)) add(objectKey(change.object), change);
  });
  cacheSet.listen("issuedCredentials", (change) => {
    const { metadata } = change.object;
    const cluster = clusterOfAdminSecret(metadata.name);
    const key = cluster === undefined ? findRegistered(metadata)?.key : toKey(metadata.namespace, cluster);
    if (key !== undefined) add(key, change);
  });
  cacheSet.listen("accesses", (change) => {
    const { metadata, spec } = change.object;
    if (metadata.labels?.[LABEL_REGISTRATION] !== undefined)
      add(toKey(metadata.namespace, spec.clusterName), change);
  });
  cacheSet.listen("namespaces", (change) => {
    const { previous, object } = change;
    const allowedIn = (namespace = object) =>
      namespace.metadata.annotations?.[ANNOTATION_ALLOWED_REGISTRATION];
    if (previous !== undefined && allowedIn(previous) === allowedIn(object)) return;
    for (const cluster of cacheSet.caches.clusters.byIndex(INDEX_NAMESPACE, object.metadata.name))
      add(objectKey(cluster), change);
  });
}

/** With what a ClusterProfile says of the status, where there is one. */
function summarizeCluster(object: Cluster): string {
  const { generation, deletionTimestamp } = object.metadata;
  const { version, conditions } =
    object.spec.registration?.clusterProfile === true ? (object.status ?? {}) : {};
  const controlPlane = findCondition(conditions, "ControlPlaneReady");
  const shown = JSON.stringify([version, controlPlane]);
  return `${generation} ${deletionTimestamp} ${idOf(object)} ${hasFinalizer(object.metadata)} ${shown}`;
}
