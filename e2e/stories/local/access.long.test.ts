import { webcrypto } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import "reflect-metadata";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { kubectl, readStack, waitFor } from "../../platform/stack/testing.ts";
import { createRealCluster, type RealCluster } from "./real-cluster.ts";

const KEY_TYPE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
let cluster: RealCluster;

beforeAll(async () => {
  cluster = await createRealCluster(readStack(), "access", { nodes: 0 });
});

afterAll(() => cluster?.remove());

const toBase64 = (data: Buffer) => data.toString("base64");

/** Opens an access for this person and returns the file of a kubeconfig with its certificate. */
async function openAccess(subject: string): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(KEY_TYPE, true, ["sign", "verify"]);
  const request = await Pkcs10CertificateRequestGenerator.create({
    // The subject of the request must be ignored.
    name: "CN=kubernetes-admin,O=system:masters",
    keys,
    signingAlgorithm: KEY_TYPE,
  });
  const access = {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: { name: subject, namespace: cluster.namespace },
    spec: { clusterName: cluster.name, subject, ttlSeconds: 600, csr: `${request.toString("pem")}\n` },
  };
  await kubectl(["create", "-f", "-"], { stdin: JSON.stringify(access) });
  const certificate = await waitFor(`the certificate of ${subject}`, async () => {
    const { status } = await cluster.getManaged("cloud.marina.dev/v1", `clusteraccesses/${subject}`);
    const ready = status?.conditions?.find(({ type }: { type: string }) => type === "Ready");
    return ready?.status === "True" ? (status.certificate as string) : undefined;
  });
  const der = toBase64(Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)));
  const key = `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)?.join("\n")}\n-----END PRIVATE KEY-----\n`;
  const config = parse(await readFile(cluster.kubeconfig, "utf8"));
  config.users[0].user = {
    "client-certificate-data": toBase64(Buffer.from(certificate)),
    "client-key-data": toBase64(Buffer.from(key)),
  };
  const file = `${cluster.kubeconfig}-${subject}`;
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}

test("an access belongs to its holder, and is revoked when it is deleted while another one keeps working", async () => {
  const [alice, bob] = await Promise.all([openAccess("alice"), openAccess("bob")]);
  for (const [kubeconfig, name] of [
    [alice, "alice"],
    [bob, "bob"],
  ] as const) {
    const whoami = await kubectl(["auth", "whoami", "-o", "json"], { kubeconfig });
    expect(JSON.parse(whoami.stdout).status.userInfo.username).toBe(name);
    await kubectl(["get", "secrets", "-A"], { kubeconfig });
  }
  await cluster.manage("delete", "clusteraccesses", "alice", "--wait=false");
  await waitFor("alice to be refused", () =>
    kubectl(["get", "secrets", "-A"], { kubeconfig: alice }).then(
      () => undefined,
      (error: Error) => error.message.includes("Forbidden"),
    ),
  );
  await kubectl(["get", "secrets", "-A"], { kubeconfig: bob });
});
