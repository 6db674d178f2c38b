import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  webcrypto,
  X509Certificate,
} from "node:crypto";
import "reflect-metadata";
import { X509CertificateGenerator } from "@peculiar/x509";
import { expect, test } from "vitest";
import { issueClientCertificate } from "./sign.ts";

const notBefore = new Date("2026-01-01T00:00:00Z");
const notAfter = new Date("2026-01-08T00:00:00Z");

async function makeAuthority(algorithm: object): Promise<{ certificate: string; key: KeyObject }> {
  const keys = (await webcrypto.subtle.generateKey(algorithm as webcrypto.EcKeyGenParams, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=kubernetes",
    notBefore,
    notAfter: new Date("2036-01-01T00:00:00Z"),
    keys,
    signingAlgorithm: { hash: "SHA-256", ...algorithm },
  });
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const key = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
  return { certificate: certificate.toString("pem"), key };
}

const rsa = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};
const p256 = { name: "ECDSA", namedCurve: "P-256" };
const p384 = { name: "ECDSA", namedCurve: "P-384" };
const p521 = { name: "ECDSA", namedCurve: "P-521" };

test.each([
  {
    what: "RSA in PKCS#1, as kubeadm's",
    algorithm: rsa,
    type: "pkcs1" as const,
    signature: "sha256WithRSAEncryption",
  },
  { what: "RSA in PKCS#8", algorithm: rsa, type: "pkcs8" as const, signature: "sha256WithRSAEncryption" },
  { what: "EC P-256 in SEC 1", algorithm: p256, type: "sec1" as const, signature: "ecdsa-with-SHA256" },
  { what: "EC P-256 in PKCS#8", algorithm: p256, type: "pkcs8" as const, signature: "ecdsa-with-SHA256" },
  { what: "EC P-384 in SEC 1", algorithm: p384, type: "sec1" as const, signature: "ecdsa-with-SHA384" },
  { what: "EC P-384 in PKCS#8", algorithm: p384, type: "pkcs8" as const, signature: "ecdsa-with-SHA384" },
  { what: "EC P-521 in SEC 1", algorithm: p521, type: "sec1" as const, signature: "ecdsa-with-SHA512" },
  { what: "EC P-521 in PKCS#8", algorithm: p521, type: "pkcs8" as const, signature: "ecdsa-with-SHA512" },
])(
  "a certificate signed with a CA key in $what has the hash of the key, is verified by the CA and matches its own key",
  async ({ algorithm, type, signature }) => {
    const ca = await makeAuthority(algorithm);
    const key = ca.key.export({ format: "pem", type }).toString();
    const issued = await issueClientCertificate({
      ca: { certificate: ca.certificate, key },
      commonName: "cloud.marina.dev:admin:1",
      organization: "cloud.marina.dev:admin:1:0",
      notBefore,
      notAfter,
    });
    const certificate = new X509Certificate(issued.certificate);
    const authority = new X509Certificate(ca.certificate);
    expect(certificate.signatureAlgorithm).toBe(signature);
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.checkIssued(authority)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(issued.key))).toBe(true);
    expect(certificate.subject).toBe("O=cloud.marina.dev:admin:1:0\nCN=cloud.marina.dev:admin:1");
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(new Date(certificate.validTo)).toEqual(notAfter);
    expect(certificate.ca).toBe(false);
  },
);

test.each([
  { what: "ed25519", key: generateKeyPairSync("ed25519").privateKey },
  { what: "ec secp256k1", key: generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey },
])("a CA key of another algorithm is rejected by name: $what", async ({ what, key }) => {
  const { certificate } = await makeAuthority(p256);
  const pem = key.export({ format: "pem", type: "pkcs8" }).toString();
  const ca = { certificate, key: pem };
  const request = { ca, commonName: "a", organization: "b", notBefore, notAfter };
  await expect(issueClientCertificate(request)).rejects.toThrow(
    `The key of the CA must be RSA or EC (P-256, P-384, P-521), it is ${what}.`,
  );
});

test("a key that is malformed is rejected", async () => {
  const { certificate } = await makeAuthority(p256);
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = publicKey.export({ format: "pem", type: "spki" }).toString();
  const request = { ca: { certificate, key }, commonName: "a", organization: "b", notBefore, notAfter };
  await expect(issueClientCertificate(request)).rejects.toThrow("DECODER");
});
