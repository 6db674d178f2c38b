import { createPrivateKey, webcrypto } from "node:crypto";
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { Secret } from "../kube/core-kinds.ts";

/** A certificate and its key, PEM. */
export interface TestPair {
  certificate: string;
  key: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** A CA of an EC key. It also serves on 127.0.0.1: its own certificate names this address. */
export async function makeAuthority(name: string): Promise<TestPair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }]),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey));
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const pem = key.export({ format: "pem", type: "pkcs8" }).toString();
  return { certificate: certificate.toString("pem"), key: pem };
}

/** What the Secret of a CA holds, as Cluster API makes it. */
export function composeCaData({ certificate, key }: TestPair): NonNullable<Secret["data"]> {
  const encode = (text: string) => Buffer.from(text).toString("base64");
  return { "tls.crt": encode(certificate), "tls.key": encode(key) };
}
