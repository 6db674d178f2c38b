import { webcrypto } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { z } from "zod";
import { type ClusterAccess, clusterAccessKind, nameAccessGroup } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_REQUEST_ID,
  API_VERSION,
  FINALIZER,
  LABEL_API_TOKEN_ID,
  LABEL_API_TOKEN_VERSION,
  LABEL_ATTEMPT_ID,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
  LABEL_USER_ID,
  MANAGER_APISERVER,
} from "../../shared/crd/names.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { hadNoEffect, KubeError } from "../../shared/kube/errors.ts";
import { composeKubeconfig, type KubeconfigCredential } from "../../shared/kube/kubeconfig.ts";
import type { AuditEntry } from "../audit/index.ts";
import { readAdminSecret, requireAccessible } from "../clusters/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Author, TokenPrincipal, UserPrincipal } from "../http/authentication/principal.ts";
import { type Caller, transactAs } from "../http/contract/caller.ts";
import { ApiError, dependencyUnavailable, describeExcess } from "../http/errors.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import type { WriteIntent } from "../resources/table.ts";
import {
  abandonCreate,
  completeCreateIntents,
  createConflict,
  createObjectName,
  deleteCreatedObjects,
  insertIntents,
  requireCluster,
  requireNotSuspended,
  SERVER_TIMEOUT_MS,
} from "../resources/write/index.ts";
import { accessesOf } from "./accesses.ts";
import { summarize } from "./present.ts";

/** A new private key (EC P-256, PKCS#8) and its certificate signing request, PEM. */
interface ClientKey {
  privateKey: string;
  csr: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Signing and granting take the operator a fraction of a second; this long when it is busy. */
const SIGN_DEADLINE_MS = 15_000;
const POLL_MS = 100;

export interface AccessRequest {
  id: string;
  /** What all attempts of one request have in common. */
  attemptId?: string;
  ttlSeconds: number;
  /** When the right to it ends unless it is renewed: the kubeconfig does not live longer. */
  notAfter?: Date | undefined;
}

/**
 * Issues a kubeconfig for the caller: creates a key that stays in this process, lets the operator sign it for a right that exists
 * as long as a ClusterAccess object, and audits it before it is returned. A failure leaves no access behind: one that a crash, or a
 * creation of unknown outcome, leaves is deleted by the job `write-intents`. Throws 409 cluster_not_ready, 404 and 409 conflict for
 * a cluster that was deleted or suspended since, 409 conflict for one access too many of this cluster, 422 quota_exceeded for one
 * too many of the organization, 503 when the certificate is not signed in time, and what `caller.confirm` throws.
 */
export async function issueKubeconfig(
  deps: Deps,
  caller: Caller,
  cluster: ProjectedCluster,
  request: AccessRequest,
): Promise<{ access: ClusterAccess; kubeconfig: string }> {
  const { author } = caller;
  requireAccessible(cluster);
  await readAdminSecret(deps, cluster);
  const { privateKey, csr } = await createClientKey(author.principal.userId, request.id);
  const object = toAccessObject(author, cluster, { ...request, notAfter: findEnd(request, deps.now()) }, csr);
  const intent = await transactAs(deps.db, caller, (tx) => openIntent(tx, author, cluster, request, object));
  let isCreated = false;
  try {
    const created = await createAccess(deps, object);
    isCreated = true;
    const access = await waitForCertificate(deps, created);
    // Read now, for the cluster may have been made anew with another CA.
    const kubeconfig = composeAccessKubeconfig(cluster.name, await readAdminSecret(deps, cluster), {
      user: access.spec.subject,
      ...(await readCredential(deps, access, privateKey)),
    });
    // A right that ends after this transaction ends this access too: its object is there to be found.
    await transactAs(deps.db, caller, async (tx) => {
      const current = await requireCluster(tx, cluster.orgId, cluster.id);
      requireNotSuspended(current);
      requireAccessible(current);
      // Else the job took this request for one that had ended, and deletes the access.
      const isCompleted = await completeCreateIntents(tx, [intent]);
      if (!isCompleted) throw dependencyUnavailable("The signer of the cluster", "it took too long");
    });
    return { access, kubeconfig };
  } catch (error) {
    const isRefused = error instanceof ApiError;
    // A commit of unknown outcome may have completed the intent.
    if (isCreated && !isRefused) await deleteCreatedObjects(deps, [intent]);
    else if (isRefused || hadNoEffect(error)) await abandonCreate(deps, [intent], isCreated ? [intent] : []);
    throw error;
  }
}

async function openIntent(
  tx: Queryable,
  author: Author,
  cluster: ProjectedCluster,
  { id, ttlSeconds }: AccessRequest,
  object: ClusterAccess,
): Promise<WriteIntent> {
  const entry: AuditEntry = {
    action: "cluster_access.create",
    orgId: cluster.orgId,
    target: { kind: "cluster_access", id },
    after: { cluster_id: cluster.id, subject: object.spec.subject, ttl_seconds: ttlSeconds },
    result: "done",
  };
  const [collection, { metadata }] = [accessesOf(cluster), object];
  const [intent] = await insertIntents(tx, author, [
    { collection, verb: "create", objectId: id, metadata, object, entry },
  ]);
  if (intent === undefined) throw new Error("an insert returned no row");
  return intent;
}

/**
 * Creates a key and the request for its certificate, with the name and the group of the access: a control plane that
 * signs for itself takes them from the request.
 */
export async function createClientKey(subject: string, accessId: string): Promise<ClientKey> {
  const x509 = await loadX509();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: new x509.Name([{ O: [nameAccessGroup(accessId)] }, { CN: [subject] }]).toString(),
    keys,
    signingAlgorithm: ALGORITHM,
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    privateKey: `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`,
    csr: `${request.toString("pem")}\n`,
  };
}

/** Fixed now: an access that comes back from a backup is no older than its new object. */
function findEnd({ ttlSeconds, notAfter }: AccessRequest, now: Date): Date {
  const end = new Date(now.getTime() + ttlSeconds * 1000);
  return notAfter !== undefined && notAfter < end ? notAfter : end;
}

/** The object of an access that REST creates: its id is new, whatever the clock of Kubernetes says. */
export function toAccessObject(
  author: Pick<Author, "requestId"> & { principal: Pick<UserPrincipal, "kind" | "userId"> | TokenPrincipal },
  cluster: Pick<ProjectedCluster, "id" | "orgId" | "namespace" | "name" | "displayName">,
  request: AccessRequest & { notAfter: Date },
  csr: string,
): ClusterAccess {
  const { principal, requestId } = author;
  return {
    apiVersion: API_VERSION,
    kind: clusterAccessKind.kind,
    metadata: {
      namespace: cluster.namespace,
      name: createObjectName(`${cluster.displayName} access`, "access"),
      labels: {
        [LABEL_ID]: request.id,
        [LABEL_ORG_ID]: cluster.orgId,
        [LABEL_CLUSTER_ID]: cluster.id,
        [LABEL_USER_ID]: principal.userId,
        ...(principal.kind === "token" ? labelsOfToken(principal) : {}),
        ...(request.attemptId === undefined ? {} : { [LABEL_ATTEMPT_ID]: request.attemptId }),
      },
      annotations: { [ANNOTATION_REQUEST_ID]: requestId, [ANNOTATION_IDENTITY]: "new" },
      finalizers: [FINALIZER],
    },
    spec: {
      clusterName: cluster.name,
      subject: principal.userId,
      ttlSeconds: request.ttlSeconds,
      notAfter: request.notAfter.toISOString(),
      csr,
    },
  };
}

/**
 * Throws 422 quota_exceeded when the organization has as many accesses as it may have, 409 conflict of `createConflict` (a taken
 * name: one of 7,000 for a cluster with 2,000 accesses), or a KubeError.
 */
async function createAccess({ kube, config }: Deps, object: ClusterAccess): Promise<ClusterAccess> {
  try {
    const options = { fieldManager: MANAGER_APISERVER, serverTimeoutMs: SERVER_TIMEOUT_MS };
    return await kube.create(clusterAccessKind, object, options);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const conflict = createConflict(object.metadata.name, error);
    if (conflict !== undefined) throw conflict;
    if (!error.isQuotaExceeded) throw error;
    const limit = config.maxClusterAccessesPerOrganization;
    throw new ApiError(
      "quota_exceeded",
      `The organization has all ${limit} kubeconfigs of its quota; revoke one.`,
      { details: [describeExcess("accesses", { limit, used: limit })], cause: error },
    );
  }
}

function labelsOfToken({ tokenId, version }: TokenPrincipal): Record<string, string> {
  return { [LABEL_API_TOKEN_ID]: tokenId, [LABEL_API_TOKEN_VERSION]: String(version) };
}

async function waitForCertificate({ kube }: Deps, { metadata }: ClusterAccess): Promise<ClusterAccess> {
  const { namespace, name, uid } = metadata;
  const giveUpAt = performance.now() + SIGN_DEADLINE_MS;
  for (;;) {
    const access = await kube.get(clusterAccessKind, namespace, name);
    if (access === undefined || access.metadata.uid !== uid) throw revoked();
    const { status, message } = summarize(access);
    if (status === "active") return access;
    if (status === "revoking") throw revoked();
    if (status === "refused") throw refused(message);
    if (performance.now() > giveUpAt) throw dependencyUnavailable("The signer of the cluster", message);
    await sleep(POLL_MS);
  }
}

/** The certificate of an issued access, or its token. Throws 503 when the token cannot be read. */
async function readCredential(
  { kube }: Deps,
  { metadata, status }: ClusterAccess,
  privateKey: string,
): Promise<KubeconfigCredential> {
  const { certificate, tokenSecretName } = status ?? {};
  if (certificate !== undefined) return { certificate, key: privateKey };
  const secret = await kube.get(secretKind, metadata.namespace, tokenSecretName ?? "");
  const token = secret?.data?.token;
  if (token === undefined) throw dependencyUnavailable("The signer of the cluster", "there is no token");
  return { token: Buffer.from(token, "base64").toString() };
}

/** Most often there are too many accesses; another one may end. */
function refused(message: string | null): ApiError {
  return new ApiError("conflict", message ?? "The access is refused.", { retryAfterSeconds: 10 });
}

function revoked(): ApiError {
  return new ApiError("conflict", "The access was revoked while it was being issued.");
}

/** Loaded at the first request: it takes longer to load than the rest of the program. */
async function loadX509() {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as typeof globalThis.crypto);
  return x509;
}

const clusterSchema = z.object({ server: z.string(), "certificate-authority-data": z.base64() });
const adminSchema = z.looseObject({ clusters: z.tuple([z.object({ cluster: clusterSchema })]) });

/** The credential of an access, and the name of its user in the kubeconfig after the cluster's. */
type Credential = { user: string } & KubeconfigCredential;

/**
 * A kubeconfig for one credential, with the server address and the CA of the cluster's admin kubeconfig. Throws an
 * Error when the admin kubeconfig is not of the form that the operator writes.
 */
export function composeAccessKubeconfig(
  name: string,
  adminKubeconfig: string,
  { user, ...credential }: Credential,
): string {
  const { clusters } = adminSchema.parse(parse(adminKubeconfig));
  const { server, "certificate-authority-data": ca } = clusters[0].cluster;
  return composeKubeconfig({
    cluster: name,
    user: `${name}-${user}`,
    server,
    ca: Buffer.from(ca, "base64").toString(),
    credential,
  });
}
