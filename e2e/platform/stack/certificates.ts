// The library needs this polyfill before it is loaded.
import "reflect-metadata";
import type { webcrypto } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

/** Files of the management cluster's own certificate authority. */
export interface Certificates {
  dir: string;
  caFile: string;
  /** Serving certificate for 127.0.0.1 and localhost, for kube-apiserver, controller manager and webhooks. */
  serverCertFile: string;
  serverKeyFile: string;
  /** Client certificate of the group system:masters. */
  adminCertFile: string;
  adminKeyFile: string;
  /** Signs ServiceAccount tokens. */
  serviceAccountKeyFile: string;
  serviceAccountPublicKeyFile: string;
  ca: string;
  adminCert: string;
  adminKey: string;
}

const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** For the cluster's authority: kube-apiserver verifies a client certificate at every request, which takes it a quarter of what EC does. */
const RSA = {
  name: "RSASSA-PKCS1-v1_5",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
  hash: "SHA-256",
};
const TEN_YEARS_MS = 10 * 365 * 24 * 3600 * 1000;
const HOUR_MS = 3600 * 1000;

type CryptoKeyPair = webcrypto.CryptoKeyPair;

interface Authority {
  certificate: x509.X509Certificate;
  keys: Pick<CryptoKeyPair, "privateKey">;
}

interface Issued extends Authority {
  keys: CryptoKeyPair;
}

async function toPrivateKeyPem(keys: CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
}

async function toPublicKeyPem(keys: CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey("spki", keys.publicKey), "PUBLIC KEY");
}

function generateKeys(algorithm: typeof EC | typeof RSA = EC): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

const algorithmOf = ({ publicKey }: x509.X509Certificate) =>
  publicKey.algorithm.name === RSA.name ? RSA : EC;

// Backdated by an hour for clock skew; every fresh run creates new ones.
const validity = () => ({
  notBefore: new Date(Date.now() - HOUR_MS),
  notAfter: new Date(Date.now() + TEN_YEARS_MS),
});

async function createAuthority(algorithm: typeof EC | typeof RSA): Promise<Issued> {
  const keys = await generateKeys(algorithm);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=marina-local-ca",
    keys,
    signingAlgorithm: algorithm,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate, keys };
}

async function issue(
  ca: Authority,
  subject: string | x509.JsonName,
  extensions: x509.Extension[],
): Promise<Issued> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: ca.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: ca.keys.privateKey,
    signingAlgorithm: algorithmOf(ca.certificate),
    ...validity(),
    extensions: [new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true), ...extensions],
  });
  return { certificate, keys };
}

function issueServer(ca: Authority): Promise<Issued> {
  return issue(ca, "CN=127.0.0.1", [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([
      { type: "ip", value: "127.0.0.1" },
      { type: "ip", value: "10.0.0.1" },
      { type: "dns", value: "localhost" },
      { type: "dns", value: "kubernetes.default.svc" },
    ]),
  ]);
}

function writeFiles(dir: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(dir, name), `${text}\n`, { mode: 0o600 });
}

async function writeAll(dir: string): Promise<void> {
  const ca = await createAuthority(RSA);
  const server = await issueServer(ca);
  const admin = await issue(ca, "CN=marina-admin,O=system:masters", [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
  ]);
  const serviceAccount = await generateKeys();
  const files = {
    "ca.crt": ca.certificate.toString("pem"),
    // For tests that use this API server as a tenant's.
    "ca.key": await toPrivateKeyPem(ca.keys),
    "tls.crt": server.certificate.toString("pem"),
    "tls.key": await toPrivateKeyPem(server.keys),
    "admin.crt": admin.certificate.toString("pem"),
    "admin.key": await toPrivateKeyPem(admin.keys),
    "service-account.key": await toPrivateKeyPem(serviceAccount),
    "service-account.pub": await toPublicKeyPem(serviceAccount),
  };
  writeFiles(dir, files);
  // Written last: after an interrupted start all of them are created again.
  writeFileSync(join(dir, "complete"), "");
}

/** A serving certificate for a DNS name from a new authority, all in PEM. */
export async function createServerCertificate(
  name: string,
): Promise<{ ca: string; cert: string; key: string }> {
  const ca = await createAuthority(EC);
  const server = await issue(ca, `CN=${name}`, [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }]),
  ]);
  return {
    ca: ca.certificate.toString("pem"),
    cert: server.certificate.toString("pem"),
    key: await toPrivateKeyPem(server.keys),
  };
}

/** The certificates under `<dir>/certificates`, created at the first start. */
export async function ensureCertificates(dir: string): Promise<Certificates> {
  const folder = join(dir, "certificates");
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, "complete"))) await writeAll(folder);
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    dir: folder,
    caFile: join(folder, "ca.crt"),
    serverCertFile: join(folder, "tls.crt"),
    serverKeyFile: join(folder, "tls.key"),
    adminCertFile: join(folder, "admin.crt"),
    adminKeyFile: join(folder, "admin.key"),
    serviceAccountKeyFile: join(folder, "service-account.key"),
    serviceAccountPublicKeyFile: join(folder, "service-account.pub"),
    ca: read("ca.crt"),
    adminCert: read("admin.crt"),
    adminKey: read("admin.key"),
  };
}

/** What a client of kube-apiserver presents; PEM. */
export interface ClientCertificate {
  cert: string;
  key: string;
}

async function readAuthority(dir: string, ca: string): Promise<Authority> {
  const authorityKey = x509.PemConverter.decodeFirst(readFileSync(join(dir, "ca.key"), "utf8"));
  const certificate = new x509.X509Certificate(ca);
  const algorithm = algorithmOf(certificate);
  const privateKey = await crypto.subtle.importKey("pkcs8", authorityKey, algorithm, false, ["sign"]);
  return { certificate, keys: { privateKey } };
}

/**
 * Replaces the serving certificate and the key that signs tokens of ServiceAccounts below `<dir>/certificates`: after
 * its restart kube-apiserver shows the one, and refuses every token of before.
 */
export async function rotateServerKeys(dir: string): Promise<void> {
  const folder = join(dir, "certificates");
  const ca = readFileSync(join(folder, "ca.crt"), "utf8");
  const server = await issueServer(await readAuthority(folder, ca));
  const serviceAccount = await generateKeys();
  writeFiles(folder, {
    "tls.crt": server.certificate.toString("pem"),
    "tls.key": await toPrivateKeyPem(server.keys),
    "service-account.key": await toPrivateKeyPem(serviceAccount),
    "service-account.pub": await toPublicKeyPem(serviceAccount),
  });
}

/** Issues a client certificate: to kube-apiserver its holder is the user `user`, a member of `groups`. */
export async function issueClientCertificate(
  { dir, ca }: Pick<Certificates, "dir" | "ca">,
  user: string,
  groups: readonly string[],
): Promise<ClientCertificate> {
  const authority = await readAuthority(dir, ca);
  const name = [{ CN: [user] }, ...groups.map((group) => ({ O: [group] }))];
  const { certificate, keys } = await issue(authority, name, [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
  ]);
  return { cert: certificate.toString("pem"), key: await toPrivateKeyPem(keys) };
}
