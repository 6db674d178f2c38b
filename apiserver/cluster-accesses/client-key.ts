import { webcrypto } from "node:crypto";
import { nameAccessGroup } from "../../shared/crd/cluster-access.ts";

/** A new private key (EC P-256, PKCS#8) and the certificate signing request for it, both PEM. */
export interface ClientKey {
  privateKey: string;
  csr: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/**
 * Creates a key and the request for its certificate, with the name and the group of the access: a control plane that signs
 * for itself takes them from the request.
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

/** Loaded at the first request: it takes longer to load than the rest of the program. */
async function loadX509() {
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto as typeof globalThis.crypto);
  return x509;
}
