import { webcrypto } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "reflect-metadata";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";
import { parse } from "yaml";
import { waitFor } from "../platform/stack/testing.ts";

/** A client certificate and its key, and the API server that it is for. PEM. */
export interface Credential {
  server: string;
  ca: string;
  cert: string;
  key: string;
}

/** A new key and a certificate signing request for it; the subject of the request must be ignored. */
export async function makeRequest(): Promise<{ csr: string; key: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const name = "CN=kubernetes-admin,O=system:masters";
  const csr = await Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: algorithm });
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const key = `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)?.join("\n")}\n-----END PRIVATE KEY-----\n`;
  return { csr: `${csr.toString("pem")}\n`, key };
}

/** The credential in a kubeconfig. */
export function readCredential(kubeconfig: string): Credential {
  const { clusters, users } = parse(kubeconfig);
  const { cluster } = clusters[0];
  const { user } = users[0];
  return {
    server: cluster.server,
    ca: fromBase64(cluster["certificate-authority-data"]),
    cert: fromBase64(user["client-certificate-data"]),
    key: fromBase64(user["client-key-data"]),
  };
}

/** The HTTP status of an attempt to list Secrets, over verified TLS. */
export function ask({ server, ca, cert, key }: Credential): Promise<number> {
  return new Promise((resolve, reject) => {
    const url = new URL("/api/v1/secrets?limit=1", server);
    const call = request(url, { ca, cert, key, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once("error", reject);
    call.end();
  });
}

/** Seconds until the API server refuses a credential. */
export async function untilRefused(credential: Credential): Promise<number> {
  const from = performance.now();
  await waitFor("it to be shut out", async () => (await ask(credential)) === 403, { intervalMs: 50 });
  return (performance.now() - from) / 1000;
}

/** A kubeconfig for a credential. */
export function composeKubeconfig({ server, ca, cert, key }: Credential): string {
  const cluster = { server, "certificate-authority-data": toBase64(ca) };
  const user = { "client-certificate-data": toBase64(cert), "client-key-data": toBase64(key) };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "real",
    clusters: [{ name: "real", cluster }],
    users: [{ name: "me", user }],
    contexts: [{ name: "real", context: { cluster: "real", user: "me" } }],
  });
}

/** Keeps a kubeconfig in a temporary file while it is used. */
export async function withFile<T>(kubeconfig: string, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "marina-access-"));
  const file = join(folder, "config");
  try {
    await writeFile(file, kubeconfig, { mode: 0o600 });
    return await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function fromBase64(text: string): string {
  return Buffer.from(text, "base64").toString();
}
