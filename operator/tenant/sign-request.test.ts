import "reflect-metadata";
import { generateKeyPairSync, webcrypto, X509Certificate } from "node:crypto";
import {
  BasicConstraintsExtension,
  Pkcs10CertificateRequestGenerator,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { beforeAll, describe, expect, test } from "vitest";
import { checkRequest, RequestError, signRequest } from "./sign.ts";

const RSA = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", publicExponent: new Uint8Array([1, 0, 1]) };
const EC = { name: "ECDSA", hash: "SHA-256", namedCurve: "P-256" };
let ca: { certificate: string; key: string };

// As kubeadm makes it: RSA of 2048 bits, the key in PKCS#1.
beforeAll(async () => {
  const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pkcs8 = pair.privateKey.export({ type: "pkcs8", format: "der" });
  const spki = pair.publicKey.export({ type: "spki", format: "der" });
  const keys = {
    privateKey: await webcrypto.subtle.importKey("pkcs8", pkcs8, RSA, true, ["sign"]),
    publicKey: await webcrypto.subtle.importKey("spki", spki, RSA, true, ["verify"]),
  };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=kubernetes",
    keys,
    signingAlgorithm: RSA,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  const key = pair.privateKey.export({ type: "pkcs1", format: "pem" });
  ca = { certificate: certificate.toString("pem"), key: String(key) };
});

const request = () => ({
  ca,
  commonName: "alice",
  organization: "cloud.marina.dev:access:1",
  notBefore: new Date("2026-03-01T12:00:00Z"),
  notAfter: new Date("2026-03-08T12:00:00Z"),
});

async function makeCsr(algorithm: object, name = "CN=kubernetes-admin,O=system:masters") {
  const keys = (await webcrypto.subtle.generateKey(algorithm as typeof EC, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const csr = await Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: algorithm as typeof EC,
  });
  return { csr: csr.toString("pem"), raw: Buffer.from(csr.rawData) };
}

describe("a certificate signing request", () => {
  test.each([
    ["EC", EC],
    ["RSA", { ...RSA, modulusLength: 2048 }],
  ])("with a key of %s is signed for our name and group, not for its own", async (_name, algorithm) => {
    const { csr } = await makeCsr(algorithm);
    const { certificate } = await signRequest(csr, request());
    const signed = new X509Certificate(certificate);
    expect(signed.subject).toBe("O=cloud.marina.dev:access:1\nCN=alice");
    expect(signed.verify(new X509Certificate(ca.certificate).publicKey)).toBe(true);
  });

  test("with a weak key is rejected", async () => {
    const { csr } = await makeCsr({ ...RSA, modulusLength: 1024 });
    await expect(signRequest(csr, request())).rejects.toThrow(RequestError);
    await expect(signRequest(csr, request())).rejects.toThrow(/2048 bits/);
  });

  test("not signed by its own key is rejected", async () => {
    const { raw } = await makeCsr(EC, "CN=somebody");
    const forged = Buffer.from(raw.toString("latin1").replace("somebody", "nobodyXX"), "latin1");
    const csr = `-----BEGIN CERTIFICATE REQUEST-----\n${forged.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
    await expect(signRequest(csr, request())).rejects.toThrow(/not signed by its own key/);
  });

  test("that is malformed is rejected", async () => {
    const csr = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n";
    await expect(signRequest(csr, request())).rejects.toThrow(RequestError);
  });
});

test("a request whose key has an unknown algorithm is refused with a reason", async () => {
  const { raw } = await makeCsr(EC);
  const oidOfEc = Buffer.from("06072a8648ce3d0201", "hex");
  raw.writeUInt8(0x7f, raw.indexOf(oidOfEc) + oidOfEc.length - 1);
  const csr = `-----BEGIN CERTIFICATE REQUEST-----\n${raw.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  const failure = await signRequest(csr, request()).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(RequestError);
  expect(failure).toMatchObject({ message: expect.stringContaining("must be RSA") });
});

describe("another signer gets a request", () => {
  const { commonName, organization } = request();

  test.each([
    [`CN=${commonName}, O=${organization}`, true],
    [`O=${organization}, CN=${commonName}`, true],
    [`CN=${commonName}`, false],
    [`CN=${commonName}, O=system:masters`, false],
    [`CN=${commonName}, O=${organization}, O=system:masters`, false],
    [`CN=${commonName}, O=${organization}+O=system:masters`, false],
    [`CN=kubernetes-admin, O=${organization}`, false],
    [`CN=${commonName}, O=${organization}, OU=more`, false],
  ])("whose subject is %s: %s", async (name, isPassedOn) => {
    const { csr } = await makeCsr(EC, name);
    expect(await checkRequest(csr, { commonName, organization })).toBe(isPassedOn);
  });

  test("never one that we would not sign", async () => {
    const { csr } = await makeCsr({ ...RSA, modulusLength: 1024 });
    await expect(checkRequest(csr, { commonName, organization })).rejects.toThrow(RequestError);
  });
});
