import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { LABEL_MANAGED_BY, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { type ServiceAccount, serviceAccountKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf, defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { objectPath } from "../../shared/kube/object.ts";
import { type TenantClient, type TenantKind, tenantList } from "../../shared/tenant/tenant-client.ts";
import { isCertificateOf } from "./sign.ts";
import { ACCOUNT_NAMESPACE } from "./subjects.ts";

/** The shortest lifetime that Kubernetes accepts for certificates and tokens. */
const MIN_LIFETIME_SECONDS = 600;
/** The signer of Kubernetes takes a fraction of a second. Not every control plane has one. */
const SIGNED_WITHIN_MS = 3_000;
const POLL_MS = 100;
const MAX_CERTIFICATE_LENGTH = 16_384;
const MAX_TOKEN_LENGTH = 16_384;

interface SigningRequest extends KubeObject {
  spec?: { request: string; signerName: string; expirationSeconds: number; usages: string[] } | undefined;
  status?: { certificate?: string | undefined; conditions?: { type: string }[] | undefined } | undefined;
}

const signingRequestKind: TenantKind<SigningRequest> = {
  kind: defineKind<SigningRequest>({
    group: "certificates.k8s.io",
    version: "v1",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    namespaced: false,
  }),
  schema: z.object({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.object({ name: z.string() }),
    status: z
      .object({
        certificate: z
          .base64()
          .max(2 * MAX_CERTIFICATE_LENGTH)
          .optional(),
        conditions: tenantList(z.object({ type: z.string() })).optional(),
      })
      .optional(),
  }),
};

/**
 * Has the tenant's own control plane sign a request (PEM) for a client certificate, and returns the certificate (PEM).
 * Undefined when it does not sign such requests: it refuses them, or none is signed within SIGNED_WITHIN_MS. Rejects with a
 * KubeError, also for a certificate that is not for this request. Nothing of the request is left.
 */
export async function requestCertificate(
  tenant: TenantClient,
  csr: string,
  lifetimeSeconds: number,
): Promise<string | undefined> {
  const { kind } = signingRequestKind;
  const name = `cloud-marina-dev-${randomUUID()}`;
  const object: SigningRequest = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name },
    spec: {
      request: Buffer.from(csr).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      expirationSeconds: Math.max(MIN_LIFETIME_SECONDS, Math.floor(lifetimeSeconds)),
      usages: ["digital signature", "client auth"],
    },
  };
  if (!(await isOffered(tenant.create(signingRequestKind, object, MANAGER_OPERATOR)))) return undefined;
  try {
    const condition = { type: "Approved", status: "True", reason: "IssuedByMarina", message: "" };
    const approval = { status: { conditions: [condition] } };
    const path = objectPath(kind, undefined, name, "approval");
    const isApproved = await isOffered(tenant.send("PATCH", path, approval, z.unknown()));
    return isApproved ? await waitForCertificate(tenant, name, csr) : undefined;
  } finally {
    await tenant.delete(signingRequestKind, name);
  }
}

async function waitForCertificate(
  tenant: TenantClient,
  name: string,
  csr: string,
): Promise<string | undefined> {
  const giveUpAt = performance.now() + SIGNED_WITHIN_MS;
  for (;;) {
    const { certificate, conditions } = (await tenant.get(signingRequestKind, name))?.status ?? {};
    if (certificate) return decodeCertificate(certificate, csr);
    const isRefused = conditions?.some(({ type }) => type === "Denied" || type === "Failed") === true;
    if (isRefused || performance.now() > giveUpAt) return undefined;
    await sleep(POLL_MS);
  }
}

async function decodeCertificate(value: string, csr: string): Promise<string> {
  const certificate = Buffer.from(value, "base64").toString();
  if (certificate.length <= MAX_CERTIFICATE_LENGTH && (await isCertificateOf(certificate, csr))) {
    return certificate;
  }
  const kubeMessage = "the certificate is not for the key and the name that were requested";
  throw new KubeError({ status: 0, reason: "InvalidResponse", kubeMessage });
}

/** False when the API or the signer does not exist, or may not be used: managed control planes keep it for themselves. */
async function isOffered(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof KubeError && [403, 404, 405, 422].includes(error.status)) return false;
    throw error;
  }
}

/** A token of a ServiceAccount, and when it expires. */
export interface AccountToken {
  token: string;
  expiresAt: Date;
}

const accountKind: TenantKind<Pick<ServiceAccount, "apiVersion" | "kind" | "metadata">> = {
  kind: serviceAccountKind,
  schema: z.object({ apiVersion: z.string(), kind: z.string(), metadata: z.object({ name: z.string() }) }),
};

const tokenSchema = z.object({
  status: z.object({
    token: z
      .string()
      .max(MAX_TOKEN_LENGTH)
      .regex(/^[A-Za-z0-9._~+/=-]+$/),
    expirationTimestamp: z.iso.datetime().transform((text) => new Date(text)),
  }),
});

/**
 * A token of the ServiceAccount of this name, which is created when it is missing: it ends with the account, and expires. The
 * control plane may make it shorter-lived than requested. Rejects with a KubeError.
 */
export async function requestToken(
  tenant: TenantClient,
  name: string,
  lifetimeSeconds: number,
): Promise<AccountToken> {
  const account = {
    apiVersion: apiVersionOf(serviceAccountKind),
    kind: serviceAccountKind.kind,
    metadata: { name, namespace: ACCOUNT_NAMESPACE, labels: LABELS },
  };
  try {
    await tenant.create(accountKind, account, MANAGER_OPERATOR);
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
  }
  const path = objectPath(serviceAccountKind, ACCOUNT_NAMESPACE, name, "token");
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: Math.max(MIN_LIFETIME_SECONDS, Math.floor(lifetimeSeconds)) },
  };
  const { status } = await tenant.send("POST", path, body, tokenSchema);
  return { token: status.token, expiresAt: status.expirationTimestamp };
}

const LABELS = { [LABEL_MANAGED_BY]: MANAGER_OPERATOR };

/** The signer of a new control plane may come after its API server. */
const ASK_AGAIN_MS = 10 * 60_000;

/** Has control planes sign certificates, and keeps which of them do not: it takes seconds to find out. */
export interface Signers {
  /**
   * As `requestCertificate`, of the cluster under this key; undefined without a request for ten minutes after its control
   * plane signed nothing.
   */
  request(
    key: string,
    tenant: TenantClient,
    csr: string,
    lifetimeSeconds: number,
  ): Promise<string | undefined>;
  /** Drops what is known of a deleted cluster. */
  forget(key: string): void;
}

export function createSigners(now: () => Date): Signers {
  const askAgainAtMs = new Map<string, number>();
  return {
    async request(key, tenant, csr, lifetimeSeconds) {
      if (now().getTime() < (askAgainAtMs.get(key) ?? 0)) return undefined;
      const certificate = await requestCertificate(tenant, csr, lifetimeSeconds);
      if (certificate === undefined) askAgainAtMs.set(key, now().getTime() + ASK_AGAIN_MS);
      else askAgainAtMs.delete(key);
      return certificate;
    },
    forget(key) {
      askAgainAtMs.delete(key);
    },
  };
}
