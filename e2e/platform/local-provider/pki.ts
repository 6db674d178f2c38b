// The library needs this polyfill before it is loaded.
import "reflect-metadata";
import { createPrivateKey, type webcrypto, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyPair {
  certificate: string;
  key: string;
}

/** A public and a private key (SPKI, PKCS #8), both PEM. */
export interface BareKeyPair {
  publicKey: string;
  key: string;
}

export interface Subject {
  commonName: string;
  /** The groups of a Kubernetes user. */
  organizations?: readonly string[];
  /** For a serving certificate. */
  ips?: readonly string[];
  dnsNames?: readonly string[];
}

const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AUTHORITY_LIFE_MS = 10 * 365 * DAY_MS;
const LEAF_LIFE_MS = 365 * DAY_MS;

/** Backdated by an hour for clock skew. */
const validity = (lifeMs: number) => ({
  notBefore: new Date(Date.now() - HOUR_MS),
  notAfter: new Date(Date.now() + lifeMs),
});

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(EC, true, ["sign", "verify"]);
}

async function toKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY")}\n`;
}

/** A new certificate authority, valid for ten years. */
export async function createAuthority(commonName: string): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: EC,
    ...validity(AUTHORITY_LIFE_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: `${certificate.toString("pem")}\n`, key: await toKeyPem(keys.privateKey) };
}

/** A certificate signed by the authority, valid for a year: for serving with `ips` or `dnsNames`, else for a client. */
export async function issueCertificate(authority: KeyPair, subject: Subject): Promise<KeyPair> {
  const keys = await generateKeys();
  const names = [
    ...(subject.ips ?? []).map((value) => ({ type: "ip" as const, value })),
    ...(subject.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
  ];
  const usage = names.length > 0 ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth;
  const signingKey = await crypto.subtle.importKey(
    "pkcs8",
    x509.PemConverter.decodeFirst(authority.key),
    EC,
    false,
    ["sign"],
  );
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [...(subject.organizations ?? []).map((name) => ({ O: [name] })), { CN: [subject.commonName] }],
    issuer: new x509.X509Certificate(authority.certificate).subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: EC,
    ...validity(LEAF_LIFE_MS),
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([usage]),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
  return { certificate: `${certificate.toString("pem")}\n`, key: await toKeyPem(keys.privateKey) };
}

/** Keys without a certificate, to sign ServiceAccount tokens with. */
export async function createSigningKeys(): Promise<BareKeyPair> {
  const keys = await generateKeys();
  const spki = await crypto.subtle.exportKey("spki", keys.publicKey);
  return {
    publicKey: `${x509.PemConverter.encode(spki, "PUBLIC KEY")}\n`,
    key: await toKeyPem(keys.privateKey),
  };
}

/** Whether two thirds of a certificate's lifetime are over. */
export function isDueForRenewal(certificate: string, now: Date): boolean {
  const { validFrom, validTo } = new X509Certificate(certificate);
  const from = Date.parse(validFrom);
  return now.getTime() >= from + ((Date.parse(validTo) - from) * 2) / 3;
}

/** Whether a certificate was signed by the authority. */
export function isSignedBy(certificate: string, authority: string): boolean {
  return new X509Certificate(certificate).verify(new X509Certificate(authority).publicKey);
}

/** Whether the certificate and the key belong together. */
export function isPair({ certificate, key }: KeyPair): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
