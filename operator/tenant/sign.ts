import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  webcrypto,
  X509Certificate,
} from "node:crypto";
import { isDeepStrictEqual } from "node:util";

export interface ClientCertificateRequest {
  /** PEM. The key is RSA or EC (P-256, P-384, P-521), in PKCS#1 (kubeadm's is), SEC 1 or PKCS#8. */
  ca: { certificate: string; key: string };
  commonName: string;
  /** The Kubernetes group. */
  organization: string;
  notBefore: Date;
  notAfter: Date;
}

/** A certificate and its private key (EC P-256, PKCS#8), both PEM. */
export interface ClientCertificate {
  certificate: string;
  key: string;
}

/** Issues a client certificate with a new key. Rejects when the CA cannot be read, or its key has another algorithm. */
export async function issueClientCertificate(request: ClientCertificateRequest): Promise<ClientCertificate> {
  const x509 = await loadX509();
  const { subtle } = webcrypto;
  const keys = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const certificate = await signClientCertificate(x509, request, keys.publicKey);
  return { certificate, key: await exportKey(keys.privateKey) };
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64");
  const lines = der.match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
}

/** A certificate signing request that must not be signed; the message explains it to its author. */
export class RequestError extends Error {
  override readonly name = "RequestError";
}

/** The key (PEM) of a new client certificate, and the request for it: its subject is the name and the group. */
export async function createRequest(
  commonName: string,
  organization: string,
): Promise<{ key: string; csr: string }> {
  const x509 = await loadX509();
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: new x509.Name([{ O: [organization] }, { CN: [commonName] }]).toString(),
    keys,
    signingAlgorithm: algorithm,
  });
  return { key: await exportKey(keys.privateKey), csr: `${request.toString("pem")}\n` };
}

/**
 * Checks a certificate signing request (PEM) as `signRequest` does, and returns whether its subject is exactly this
 * name and group: another signer would use the subject unchanged.
 */
export async function checkRequest(
  csr: string,
  { commonName, organization }: Pick<ClientCertificateRequest, "commonName" | "organization">,
): Promise<boolean> {
  const x509 = await loadX509();
  const { subjectName } = await readRequest(x509, csr);
  return isSubject(subjectName.toJSON(), commonName, organization);
}

/**
 * Whether a certificate (PEM) of another signer is one for this request: its key, and its subject. Nothing is
 * assumed of the text.
 */
export async function isCertificateOf(certificate: string, csr: string): Promise<boolean> {
  const x509 = await loadX509();
  try {
    const issued = new x509.X509Certificate(certificate);
    const request = new x509.Pkcs10CertificateRequest(csr);
    const isKey = Buffer.from(issued.publicKey.rawData).equals(Buffer.from(request.publicKey.rawData));
    return isKey && issued.subject === request.subject;
  } catch {
    return false;
  }
}

/** Whether the key of one of these CAs (PEM) has signed a certificate; false for a text that is none. */
export function isSignedBy(certificate: string, caCertificates: string): boolean {
  try {
    const signed = new X509Certificate(certificate);
    const authorities = caCertificates.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
    return (authorities ?? []).some((text) => signed.verify(new X509Certificate(text).publicKey));
  } catch {
    return false;
  }
}

/** The end of a certificate's validity. Throws for a text that is none. */
export function readNotAfter(certificate: string): Date {
  return new Date(new X509Certificate(certificate).validTo);
}

/**
 * Signs the key of a certificate signing request (PEM) for the given name and group; the subject in the request is
 * ignored. Rejects with a RequestError for a request that is broken, not signed by its own key, or has a key
 * that is too weak.
 */
export async function signRequest(
  csr: string,
  request: ClientCertificateRequest,
): Promise<{ certificate: string }> {
  const x509 = await loadX509();
  const { publicKey } = await readRequest(x509, csr);
  return { certificate: await signClientCertificate(x509, request, publicKey) };
}

type X509 = Awaited<ReturnType<typeof loadX509>>;

async function readRequest(x509: X509, csr: string) {
  const parsed = parseRequest(x509, csr);
  const weakness = findWeakness(Buffer.from(parsed.publicKey.rawData));
  if (weakness !== undefined) throw new RequestError(weakness);
  if (!(await parsed.verify().catch(() => false))) {
    throw new RequestError("The certificate signing request is not signed by its own key.");
  }
  return parsed;
}

/** Exactly one name and one group, in any order. */
function isSubject(parts: Record<string, string[]>[], commonName: string, organization: string): boolean {
  const values = parts.flatMap((part) =>
    Object.entries(part).map(([type, texts]) => `${type}=${texts.join()}`),
  );
  return isDeepStrictEqual(values.sort(), [`CN=${commonName}`, `O=${organization}`]);
}

function parseRequest(x509: X509, csr: string) {
  try {
    return new x509.Pkcs10CertificateRequest(csr);
  } catch (error) {
    throw new RequestError("The certificate signing request cannot be read.", { cause: error });
  }
}

const CURVES = ["prime256v1", "secp384r1", "secp521r1"];
const MIN_RSA_BITS = 2048;

function findWeakness(spki: Buffer): string | undefined {
  const { asymmetricKeyType, asymmetricKeyDetails } = readPublicKey(spki) ?? {};
  const { namedCurve = "", modulusLength = 0 } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === "ed25519") return undefined;
  if (asymmetricKeyType === "ec" && CURVES.includes(namedCurve)) return undefined;
  if (asymmetricKeyType === "rsa" && modulusLength >= MIN_RSA_BITS) return undefined;
  return `The key of the certificate signing request must be RSA of ${MIN_RSA_BITS} bits or more, EC (P-256, P-384, P-521) or Ed25519.`;
}

/** Undefined for an algorithm that the cryptography here does not know. */
function readPublicKey(spki: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spki, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}

async function signClientCertificate(
  x509: X509,
  request: ClientCertificateRequest,
  publicKey: Parameters<X509["X509CertificateGenerator"]["create"]>[0]["publicKey"],
): Promise<string> {
  const authority = new x509.X509Certificate(request.ca.certificate);
  const { key: signingKey, algorithm } = await importSigningKey(request.ca.key);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: newSerialNumber(),
    subject: new x509.Name([{ O: [request.organization] }, { CN: [request.commonName] }]).toString(),
    issuer: authority.subject,
    notBefore: request.notBefore,
    notAfter: request.notAfter,
    publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(authority),
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

/** Loaded with the first certificate: the package takes longer to load than the rest of the operator. */
async function loadX509() {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as typeof globalThis.crypto);
  return x509;
}

/** Web Crypto reads PKCS#8 only; Node's own parser reads the rest. */
async function importSigningKey(pem: string) {
  const key = createPrivateKey(pem);
  const algorithm = chooseSignature(key);
  const der = key.export({ format: "der", type: "pkcs8" });
  return { key: await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]), algorithm };
}

/** The hash of each curve is as strong as the curve, as RFC 5480 section 4 recommends. */
const EC_SIGNATURES: Readonly<Record<string, { namedCurve: string; hash: string }>> = {
  prime256v1: { namedCurve: "P-256", hash: "SHA-256" },
  secp384r1: { namedCurve: "P-384", hash: "SHA-384" },
  secp521r1: { namedCurve: "P-521", hash: "SHA-512" },
};

/** Throws for a key that is not RSA and not of one of the curves. */
function chooseSignature({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType === "rsa") return { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const { namedCurve } = asymmetricKeyDetails ?? {};
  const signature = namedCurve === undefined ? undefined : EC_SIGNATURES[namedCurve];
  if (asymmetricKeyType === "ec" && signature !== undefined) return { name: "ECDSA", ...signature };
  const kind = [asymmetricKeyType, namedCurve].filter((part) => part !== undefined).join(" ");
  throw new Error(`The key of the CA must be RSA or EC (P-256, P-384, P-521), it is ${kind}.`);
}

/** 16 random bytes; the first bit is 0, for DER has no unsigned numbers. */
function newSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes.toString("hex");
}
