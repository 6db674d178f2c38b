import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { makeRequest } from "../testing/credentials.ts";
import {
  capiClusterKind,
  clusterClassKind,
  conditionOf,
  createEngineer,
  type Engineer,
  waitForCluster,
} from "../testing/custom-resources.ts";
import { requireEveryMachineMetered } from "../testing/machine-sets.ts";
import { withTenantKubeconfig } from "../testing/tenant-kubeconfig.ts";

/**
 * What Cluster API's in-memory provider can show of other providers. It panics at the key of a CA that is not RSA,
 * needs that key, serves no certificate requests, tokens or reviews of access, and takes every client for an
 * administrator: those shapes are in e2e/stories/local/providers.extended.test.ts.
 */
const PLATFORM = "marina-system";
const CLASS = "marina-in-memory-v1";
const BY_HAND = { fieldManager: "test" };
const OWN = { pods: ["172.20.0.0/16"], services: ["172.21.0.0/20"] };
const KEY_BITS = 3072;

interface ControlPlane extends KubeObject {
  // biome-ignore lint/suspicious/noExplicitAny: kubeadm's settings are copied as they are
  spec: any;
  status?: { version?: string; versions?: unknown };
}

const controlPlaneKind = kubeadmKind("KubeadmControlPlane", "kubeadmcontrolplanes");
const controlPlaneTemplateKind = kubeadmKind("KubeadmControlPlaneTemplate", "kubeadmcontrolplanetemplates");

function kubeadmKind(kind: string, plural: string) {
  const group = "controlplane.cluster.x-k8s.io";
  return defineKind<ControlPlane>({ group, version: "v1beta2", kind, plural, namespaced: true });
}

let stack: Stack;
let engineer: Engineer;

beforeAll(async () => {
  const plan = (name: string) => ({ class: name, namespace: PLATFORM, controlPlaneReplicas: 1 });
  const plans = { default: plan(CLASS), "long-keys": plan("long-keys") };
  stack = await startStack({
    dir: ".marina/faults",
    fresh: true,
    provider: "in-memory",
    onCrash: "report",
    operator: { MARINA_PLANS: JSON.stringify(plans) },
  });
  engineer = await createEngineer(stack.info);
  await dropVersionLists();
  await createClassWithLongKeys();
  await publishClientAuthority("split");
  await engineer.createCluster("long", { plan: "long-keys", clusterNetwork: OWN });
  // A public endpoint is probed with the CA of the kubeconfig that is issued, and here none is.
  await engineer.createCluster("split", { publicEndpoint: false });
  for (const name of ["long", "split"]) await engineer.createPool(`${name}-web`, name, {});
  for (const name of ["long", "split"]) await waitForCluster(engineer, name);
});

afterAll(async () => {
  await engineer?.close();
  await stack?.stop();
});

/** From now on the control planes report `status.version` alone, as those of other providers. */
async function dropVersionLists(): Promise<void> {
  const field = "/schema/openAPIV3Schema/properties/status/properties/versions";
  const patch = JSON.stringify([{ op: "remove", path: `/spec/versions/1${field}` }]);
  const name = "crd/kubeadmcontrolplanes.controlplane.cluster.x-k8s.io";
  await kubectl(["patch", name, "--type=json", "-p", patch], { stack: stack.info });
}

async function createClassWithLongKeys(): Promise<void> {
  const { client } = engineer;
  const metadata = { name: "long-keys", namespace: PLATFORM };
  const template = (await client.get(controlPlaneTemplateKind, PLATFORM, CLASS))?.spec;
  template.template.spec.kubeadmConfigSpec.clusterConfiguration.encryptionAlgorithm = `RSA-${KEY_BITS}`;
  await client.create(controlPlaneTemplateKind, { metadata, spec: template }, BY_HAND);
  const found = (await client.get(clusterClassKind, PLATFORM, CLASS)) as { spec: ControlPlane["spec"] };
  found.spec.controlPlane.templateRef.name = metadata.name;
  await client.create(clusterClassKind, { metadata, spec: found.spec }, BY_HAND);
}

/** As k3s and RKE2 do, whose CA for servers signs no client. */
async function publishClientAuthority(name: string): Promise<void> {
  const labels = { "cluster.x-k8s.io/cluster-name": name };
  const metadata = { name: `${name}-cca`, namespace: engineer.namespace, labels };
  const secret = { metadata, type: "cluster.x-k8s.io/secret", data: { "tls.crt": btoa("another CA") } };
  await engineer.client.create(secretKind, secret, BY_HAND);
}

async function readSecret(name: string): Promise<Record<string, string>> {
  const { data = {} } = (await engineer.client.get(secretKind, engineer.namespace, name)) ?? {};
  const decoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
  return Object.fromEntries(decoded);
}

/** The bindings in a tenant cluster that have this text in their names. */
function listBindings(cluster: string, text: string): Promise<string[]> {
  return withTenantKubeconfig(engineer, cluster, async (kubeconfig) => {
    const { stdout } = await kubectl(["get", "clusterrolebindings", "-o", "name"], {
      kubeconfig,
      stack: stack.info,
    });
    return stdout.split("\n").filter((name) => name.includes(text));
  });
}

async function createAccess(clusterName: string): Promise<string> {
  const { client, namespace } = engineer;
  const { csr } = await makeRequest();
  const spec = { clusterName, subject: "alice", ttlSeconds: 600, csr };
  await client.create(clusterAccessKind, { metadata: { name: clusterName, namespace }, spec }, BY_HAND);
  return waitFor(
    "the id of the access",
    async () => (await getAccess(clusterName))?.metadata.labels?.[LABEL_ID],
  );
}

function getAccess(name: string) {
  return engineer.client.get(clusterAccessKind, engineer.namespace, name);
}

async function revoke(name: string): Promise<void> {
  const { client, namespace } = engineer;
  await client.delete(clusterAccessKind, namespace, name);
  await waitFor("the access to be gone", async () => (await getAccess(name)) === undefined);
}

test("the networks of a cluster reach Cluster API and kubeadm", async () => {
  const { client, namespace } = engineer;
  const { spec } = await client.get(capiClusterKind, namespace, "long");
  expect(spec.clusterNetwork).toEqual({
    pods: { cidrBlocks: OWN.pods },
    services: { cidrBlocks: OWN.services },
  });
  const labelSelector = "cluster.x-k8s.io/cluster-name=long,cluster.x-k8s.io/control-plane";
  const { stdout } = await kubectl(
    ["get", "secrets", "-n", namespace, "-l", labelSelector.split(",")[0] ?? "", "-o", "json"],
    { stack: stack.info },
  );
  const texts = JSON.parse(stdout).items.map((item: { data?: { value?: string } }) =>
    Buffer.from(item.data?.value ?? "", "base64").toString(),
  );
  expect(texts.some((text: string) => text.includes(`podSubnet: ${OWN.pods[0]}`))).toBe(true);
});

test(`a CA with a key of ${KEY_BITS} bits signs the admin kubeconfig, which rotation replaces`, async () => {
  const authority = new X509Certificate((await readSecret("long-ca"))["tls.crt"] ?? "");
  expect(authority.publicKey.asymmetricKeyDetails?.modulusLength).toBe(KEY_BITS);
  const readCertificate = async () => {
    const { value = "" } = await readSecret(nameAdminSecret("long"));
    const { user } = parse(value).users[0];
    return new X509Certificate(Buffer.from(user["client-certificate-data"], "base64"));
  };
  // Another controller than that of the cluster's readiness writes it.
  const before = await waitFor("the admin kubeconfig", readCertificate);
  expect(before.verify(authority.publicKey)).toBe(true);
  // Another controller than that of the kubeconfig writes it.
  await waitFor("one binding", async () => (await listBindings("long", "-admin-")).length === 1);
  await engineer.patchCluster("long", { spec: { credentialsGeneration: 1 } });
  const after = await waitFor("another certificate", async () => {
    const now = await readCertificate();
    return now.subject === before.subject ? undefined : now;
  });
  expect(after.verify(authority.publicKey)).toBe(true);
});

test("an access is bound in the tenant's cluster until it is revoked, and not published before its API admits the user", async () => {
  const id = await createAccess("long");
  await waitFor("the binding", async () => (await listBindings("long", id)).length === 1);
  // It has no SubjectAccessReviews to say so.
  expect((await getAccess("long"))?.status?.certificate).toBeUndefined();
  await revoke("long");
  expect(await listBindings("long", id)).toEqual([]);
});

test("the CA of servers alone signs no client: the cluster is ready, and says that no kubeconfig can be issued", async () => {
  await waitForCluster(engineer, "split");
  const failed = await waitFor("the failure to be reported", async () => {
    const condition = conditionOf(await engineer.getCluster("split"), "AccessReady");
    return condition?.reason === "CredentialsFailed" ? condition : undefined;
  });
  expect(failed).toMatchObject({ status: "False" });
  expect(await readSecret(nameAdminSecret("split"))).toEqual({});
  const id = await createAccess("split");
  await waitFor("its binding", async () => (await listBindings("split", id)).length === 1);
  expect((await getAccess("split"))?.status?.certificate).toBeUndefined();
  await revoke("split");
  expect(await listBindings("split", id)).toEqual([]);
});

test("control planes that report one version alone settle after an upgrade, with the pools", async () => {
  const names = ["long", "split"];
  for (const name of names) await engineer.patchCluster(name, { spec: { version: "1.35" } });
  for (const name of names) {
    await waitFor(`${name} to run 1.35.1`, async () => {
      const { status } = await waitForCluster(engineer, name);
      return status?.version === "1.35.1";
    });
    expect(conditionOf(await engineer.getCluster(name), "Stalled")).toBeUndefined();
  }
  const planes = await engineer.client.listAll(controlPlaneKind, { namespace: engineer.namespace });
  expect(planes.map(({ status }) => [status?.version, status?.versions])).toEqual(
    names.map(() => ["v1.35.1", undefined]),
  );
});

test("in the end every machine that runs is recorded and metered", async () => {
  expect(await requireEveryMachineMetered(stack.info)).toBeDefined();
});
