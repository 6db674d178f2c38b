import { webcrypto } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import "reflect-metadata";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { type ClusterAccess, clusterAccessKind } from "../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../shared/crd/names.ts";
import { secretKind } from "../shared/kube/core-kinds.ts";
import { createEngineer, type Engineer } from "./custom-resources.ts";
import { playTenant, readPlayedServer } from "./played-tenant.ts";
import { kubectl, readStack, waitFor } from "./stack/testing.ts";

const stack = readStack();
const { server, caCertificate } = readPlayedServer(stack);
const BY_HAND = { fieldManager: "test" };
let engineer: Engineer;

beforeAll(async () => {
  engineer = await createEngineer(stack);
  await playTenant(stack, engineer, "real");
});

afterAll(() => engineer.close());

test("an access lets its holder in and nobody else, and ends for it alone, within 5 s of its deletion", async () => {
  const [alice, bob] = await Promise.all([openAccess("alice"), openAccess("bob")]);
  expect(await ask(alice)).toBe(200);
  expect(await ask(bob)).toBe(200);
  const whoami = await withKubeconfig(alice, (kubeconfig) =>
    kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo}"], { kubeconfig }),
  );
  const user = JSON.parse(whoami.stdout);
  const { metadata } = await getAccess("alice");
  expect(user.username).toBe("alice");
  expect(user.groups).toContain(`cloud.marina.dev:access:${metadata.labels?.[LABEL_ID]}`);
  await withKubeconfig(alice, (kubeconfig) => kubectl(["auth", "can-i", "delete", "nodes"], { kubeconfig }));

  const { client, namespace } = engineer;
  const from = performance.now();
  await client.delete(clusterAccessKind, namespace, "alice");
  await waitFor("alice to be shut out", async () => (await ask(alice)) === 403, { intervalMs: 50 });
  const seconds = (performance.now() - from) / 1000;
  expect(seconds).toBeLessThan(5);
  expect(await ask(bob)).toBe(200);
  await waitFor(
    "the object to go",
    async () => (await client.get(clusterAccessKind, namespace, "alice")) === undefined,
  );
});

test("a right whose object was torn out by hand is taken away all the same", async () => {
  const carol = await openAccess("carol");
  expect(await ask(carol)).toBe(200);
  const { client, namespace } = engineer;
  await kubectl(["delete", "clusteraccesses.cloud.marina.dev", "carol", "-n", namespace, "--wait=false"]);
  const torn = client.mergePatch(
    clusterAccessKind,
    namespace,
    "carol",
    { metadata: { finalizers: [] } },
    BY_HAND,
  );
  await torn.catch(() => undefined);
  await waitFor("carol to be shut out", async () => (await ask(carol)) === 403);
});

test("raising credentialsGeneration ends the admin kubeconfig that was handed out and leaves grants alone", async () => {
  const dave = await openAccess("dave");
  const before = await readAdminKubeconfig();
  await waitFor("the admin to be let in", async () => (await ask(before)) === 200);
  await engineer.patchCluster("real", { spec: { credentialsGeneration: 1 } });
  await waitFor("the old admin to be shut out", async () => (await ask(before)) === 403);
  const after = await waitFor("another admin kubeconfig", async () => {
    const now = await readAdminKubeconfig();
    return now.cert === before.cert ? undefined : now;
  });
  expect(await ask(after)).toBe(200);
  expect(await ask(dave)).toBe(200);
});

test("what cannot be granted says why: a broken request, one access too many", async () => {
  const { client, namespace } = engineer;
  const broken = "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n";
  await createAccess("broken", "erin", broken);
  const { csr } = await makeRequest();
  for (let index = 0; index < 11; index += 1) await createAccess(`many-${index}`, "frank", csr);
  const reasonOf = async (name: string) => {
    const access = await client.get(clusterAccessKind, namespace, name);
    return access?.status?.conditions?.find(({ type }) => type === "Stalled")?.reason;
  };
  await waitFor(
    "the broken request to be refused",
    async () => (await reasonOf("broken")) === "InvalidRequest",
  );
  const { index: refused } = await waitFor("one of eleven to be refused", async () => {
    const names = Array.from({ length: 11 }, (_, index) => `many-${index}`);
    const reasons = await Promise.all(names.map(reasonOf));
    const index = reasons.indexOf("TooManyAccesses");
    const issued = reasons.filter((reason) => reason === "Issued");
    return issued.length === 10 && index >= 0 ? { index } : undefined;
  });
  expect(await reasonOf("broken")).toBe("InvalidRequest");
  await client.delete(clusterAccessKind, namespace, `many-${(refused + 1) % 11}`);
  await waitFor(
    "it to be let in when another one goes",
    async () => (await reasonOf(`many-${refused}`)) === "Issued",
  );
});

interface Credential {
  cert: string;
  key: string;
}

async function openAccess(subject: string): Promise<Credential> {
  const { csr, key } = await makeRequest();
  await createAccess(subject, subject, csr);
  const cert = await waitFor(`the access of ${subject}`, async () => {
    const { status } = await getAccess(subject);
    const ready = status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
    return ready ? status?.certificate : undefined;
  });
  return { cert, key };
}

function createAccess(name: string, subject: string, csr: string) {
  const { client, namespace } = engineer;
  const spec = { clusterName: "real", subject, ttlSeconds: 600, csr };
  return client.create(clusterAccessKind, { metadata: { name, namespace }, spec }, BY_HAND);
}

async function getAccess(name: string): Promise<ClusterAccess> {
  const access = await engineer.client.get(clusterAccessKind, engineer.namespace, name);
  if (access === undefined) throw new Error(`there is no access ${name}`);
  return access;
}

async function makeRequest(): Promise<{ csr: string; key: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  // What it says of itself must not count.
  const name = "CN=kubernetes-admin,O=system:masters";
  const csr = await Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: algorithm });
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const key = `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)?.join("\n")}\n-----END PRIVATE KEY-----\n`;
  return { csr: `${csr.toString("pem")}\n`, key };
}

async function readAdminKubeconfig(): Promise<Credential> {
  const { client, namespace } = engineer;
  const { data } = await waitFor("the admin kubeconfig", () =>
    client.get(secretKind, namespace, "real-admin-kubeconfig"),
  );
  const { user } = parse(fromBase64(data?.value ?? "")).users[0];
  return { cert: fromBase64(user["client-certificate-data"]), key: fromBase64(user["client-key-data"]) };
}

/** The status with which the API server answers somebody who wants to read Secrets, over verified TLS. */
function ask({ cert, key }: Credential): Promise<number> {
  return new Promise((resolve, reject) => {
    const url = new URL("/api/v1/secrets?limit=1", server);
    const call = request(url, { ca: caCertificate, cert, key, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.once("error", reject);
    call.end();
  });
}

async function withKubeconfig<T>({ cert, key }: Credential, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "marina-access-"));
  const file = join(folder, "config");
  const cluster = { server, "certificate-authority-data": toBase64(caCertificate) };
  const user = { "client-certificate-data": toBase64(cert), "client-key-data": toBase64(key) };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "real",
    clusters: [{ name: "real", cluster }],
    users: [{ name: "me", user }],
    contexts: [{ name: "real", context: { cluster: "real", user: "me" } }],
  };
  try {
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
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
