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
    signingAlgorithm: { ...algorithm, hash: "SHA-256" },
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
const ec = { name: "ECDSA", namedCurve: "P-256" };

test.each([
  { what: "RSA in PKCS#1, as kubeadm's", algorithm: rsa, type: "pkcs1" as const },
  { what: "RSA in PKCS#8", algorithm: rsa, type: "pkcs8" as const },
  { what: "EC in PKCS#8", algorithm: ec, type: "pkcs8" as const },
  { what: "EC in SEC 1", algorithm: ec, type: "sec1" as const },
])(
  "a certificate signed with a CA key in $what is verified by the CA and matches its own key",
  async ({ algorithm, type }) => {
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
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.checkIssued(authority)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(issued.key))).toBe(true);
    expect(certificate.subject).toBe("O=cloud.marina.dev:admin:1:0\nCN=cloud.marina.dev:admin:1");
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(new Date(certificate.validTo)).toEqual(notAfter);
    expect(certificate.ca).toBe(false);
  },
);

test("a key that is malformed is rejected", async () => {
  const { certificate } = await makeAuthority(ec);
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = publicKey.export({ format: "pem", type: "spki" }).toString();
  const request = { ca: { certificate, key }, commonName: "a", organization: "b", notBefore, notAfter };
  await expect(issueClientCertificate(request)).rejects.toThrow("DECODER");
});
