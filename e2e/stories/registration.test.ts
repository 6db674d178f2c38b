import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { ANNOTATION_ALLOWED_REGISTRATION, LABEL_REGISTRATION } from "../../shared/crd/names.ts";
import { namespaceKind, type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import { ensureTestTool, fetchClusterProfileDefinition } from "../platform/stack/test-tools.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { ask, composeKubeconfig, readCredential, untilRefused, withFile } from "../testing/credentials.ts";
import { conditionOf, createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { createSimulatedTenant, markReady } from "../testing/simulated-tenant.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const BY_HAND = { fieldManager: "test" };
const FLUX = "real.flux-kubeconfig.cloud.marina.dev";
let engineer: Engineer;
let orgID: string;
let clusterID: string;

beforeAll(async () => {
  orgID = expectStatus(201, await alice.call("createOrganization", { body: { name: "Registrations" } })).id;
  engineer = await createEngineer(stack, orgID);
  clusterID = await createSimulatedTenant(stack, engineer, "real");
  const argoCD = { metadata: { name: "argocd" } };
  if ((await engineer.client.get(namespaceKind, undefined, "argocd")) === undefined)
    await engineer.client.create(namespaceKind, argoCD, BY_HAND);
});

afterAll(async () => {
  await kubectl(["delete", "crd", "clusterprofiles.multicluster.x-k8s.io", "--ignore-not-found"]);
  await engineer.close();
});

const allow = (parts: string | null) =>
  engineer.client.mergePatch(
    namespaceKind,
    undefined,
    engineer.namespace,
    { metadata: { annotations: { [ANNOTATION_ALLOWED_REGISTRATION]: parts } } },
    BY_HAND,
  );

const wish = (registration: object | null) => engineer.patchCluster("real", { spec: { registration } });

const readSecret = (namespace: string, name: string) => engineer.client.get(secretKind, namespace, name);
const readFlux = () => readSecret(engineer.namespace, FLUX);
const readArgoCD = () => readSecret("argocd", `${engineer.namespace}.real.argocd-cluster.cloud.marina.dev`);

/** The credential in a Secret, once its data are others than those of `before`. */
function waitForSecret(read: () => Promise<Secret | undefined>, before?: Secret): Promise<Secret> {
  return waitFor("the Secret", async () => {
    const secret = await read();
    return isDeepStrictEqual(secret?.data, before?.data) ? undefined : secret;
  });
}

const decode = (secret: Secret, key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString();
const ofFlux = (secret: Secret) => readCredential(decode(secret, "value"));

function waitForReason(reason: string | undefined): Promise<unknown> {
  return waitFor(`Registered to say ${reason}`, async () => {
    return conditionOf(await engineer.getCluster("real"), "Registered")?.reason === reason;
  });
}

async function listAccesses(): Promise<ClusterAccess[]> {
  const { client, namespace } = engineer;
  return client.listAll(clusterAccessKind, { namespace, labelSelector: LABEL_REGISTRATION });
}

test("what the platform does not allow in the Namespace is said, and nothing is handed out", async () => {
  await wish({ fluxSecret: true });
  await waitForReason("NotAllowed");
  expect([await readFlux(), await listAccesses()]).toEqual([undefined, []]);
});

test("what is allowed waits for the first readiness of the cluster, when its bill begins", async () => {
  await allow("fluxSecret, argoCDSecret");
  await waitForReason("WaitingForCluster");
  expect([await readFlux(), await readArgoCD()]).toEqual([undefined, undefined]);
});

test("a Secret of that name that Marina did not make stays as it is, and is said", async () => {
  const metadata = { name: FLUX, namespace: engineer.namespace };
  await engineer.client.create(secretKind, { metadata, data: { value: "bWluZQ==" } }, BY_HAND);
  await markReady(engineer, "real");
  await waitForReason("SecretExists");
  expect((await readFlux())?.data).toEqual({ value: "bWluZQ==" });
  // The operator asks again every minute, and at once when the wish changes.
  await engineer.client.delete(secretKind, engineer.namespace, FLUX);
  await wish({ fluxSecret: true, argoCDSecret: true });
  await waitForReason("Registered");
});

test("a pipeline deploys into the cluster with the kubeconfig of Flux, as an access of no member", async () => {
  const secret = await waitForSecret(readFlux);
  await withFile(decode(secret, "value"), async (kubeconfig) => {
    const name = `pipeline-${orgID.slice(-12)}`;
    await kubectl(["create", "namespace", name], { kubeconfig });
    const deployment = ["create", "deployment", "web", "--image=registry.k8s.io/pause:3.10", "-n", name];
    await kubectl(deployment, { kubeconfig });
    const { stdout } = await kubectl(["get", "deployments", "-n", name, "-o", "name"], { kubeconfig });
    expect(stdout.trim()).toBe("deployment.apps/web");
    await kubectl(["delete", "namespace", name, "--wait=false"], { kubeconfig });
    const whoami = await kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], {
      kubeconfig,
    });
    expect(whoami.stdout).toBe("registration");
  });
  const { items } = expectStatus(200, await alice.call("listClusterAccesses", { orgID, clusterID }));
  const shown = items.map(({ subject, email, status }) => ({ subject, email, status }));
  const one = { subject: "registration", email: null, status: "active" };
  expect(shown).toEqual([one, one]);
});

test("Argo CD's cluster Secret is one that it finds, and lists the namespaces of the cluster", async () => {
  const secret = await waitForSecret(readArgoCD);
  expect(secret.metadata.labels).toMatchObject({ "argocd.argoproj.io/secret-type": "cluster" });
  expect(decode(secret, "name")).toBe(`${engineer.namespace}/real`);
  const { tlsClientConfig } = JSON.parse(decode(secret, "config"));
  const [ca, cert, key] = [tlsClientConfig.caData, tlsClientConfig.certData, tlsClientConfig.keyData].map(
    (text: string) => Buffer.from(text, "base64").toString(),
  ) as [string, string, string];
  const credential = { server: decode(secret, "server"), ca, cert, key };
  await withFile(composeKubeconfig(credential), async (kubeconfig) => {
    const { stdout } = await kubectl(["get", "namespaces", "-o", "name"], { kubeconfig });
    expect(stdout).toContain("namespace/kube-system");
  });
});

test("the deletion of its accesses ends the credentials, and there are others", async () => {
  const before = await waitForSecret(readFlux);
  for (const { id } of expectStatus(200, await alice.call("listClusterAccesses", { orgID, clusterID })).items)
    expectStatus(204, await alice.call("revokeClusterAccess", { orgID, clusterID, accessID: id }));
  await untilRefused(ofFlux(before));
  const renewed = await waitForSecret(readFlux, before);
  expect(await ask(ofFlux(renewed))).toBe(200);
});

test("a Secret that somebody changed is written again", async () => {
  const before = await waitForSecret(readFlux);
  const data = { value: "bWluZQ==" };
  const changed = await engineer.client.mergePatch(secretKind, engineer.namespace, FLUX, { data }, BY_HAND);
  const renewed = await waitForSecret(readFlux, changed);
  expect(await ask(ofFlux(renewed))).toBe(200);
  expect(renewed.data?.value).not.toBe(before.data?.value);
});

test("what is wanted or allowed no more is gone, and its credential is refused", async () => {
  await waitForReason("Registered");
  const flux = ofFlux(await waitForSecret(readFlux));
  await allow("fluxSecret");
  await waitFor("Argo CD's Secret to go", async () => (await readArgoCD()) === undefined);
  await waitForReason("NotAllowed");
  expect(await ask(flux)).toBe(200);
  await wish(null);
  await untilRefused(flux);
  await waitFor("Flux's Secret to go", async () => (await readFlux()) === undefined);
  await waitForReason(undefined);
  await waitFor("the accesses to go", async () => (await listAccesses()).length === 0);
});

/** The ClusterProfile of this story's cluster; undefined while there is none. */
async function readProfile() {
  const args = [
    "get",
    "clusterprofile",
    "real",
    "-n",
    engineer.namespace,
    "--ignore-not-found",
    "-o",
    "json",
  ];
  const { stdout } = await kubectl(args);
  return stdout === "" ? undefined : JSON.parse(stdout);
}

test("an installation without ClusterProfiles says so, and one of another manager stays as it is", async () => {
  await allow("clusterProfile");
  await wish({ clusterProfile: true });
  await waitForReason("ClusterProfileNotInstalled");
  await kubectl(["apply", "-f", await fetchClusterProfileDefinition()]);
  await kubectl(["wait", "--for=condition=Established", "crd/clusterprofiles.multicluster.x-k8s.io"]);
  const profile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { name: "real", namespace: engineer.namespace },
    spec: { clusterManager: { name: "another" } },
  };
  await kubectl(["apply", "-f", "-"], { stdin: JSON.stringify(profile) });
  // The operator looks again every minute, and at once when the wish changes.
  await wish({ clusterProfile: true, fluxSecret: false });
  await waitForReason("ClusterProfileExists");
  await wish(null);
  await waitForReason(undefined);
  expect((await readProfile()).spec).toEqual(profile.spec);
  await kubectl(["delete", "clusterprofile", "real", "-n", engineer.namespace]);
});

test("a client of the inventory finds the cluster by its ClusterProfile, and gets in with the SIG's own plugin", async () => {
  await wish({ clusterProfile: true });
  await waitForReason("Registered");
  const profile = await waitFor("the ClusterProfile", readProfile);
  expect(profile.metadata.labels).toMatchObject({ "x-k8s.io/cluster-manager": "cloud.marina.dev" });
  const [{ name, cluster }] = profile.status.accessProviders;
  expect(name).toBe("kubeconfig-secretreader");
  const command = await ensureTestTool("kubeconfig-secretreader");
  const env = [{ name: "KUBECONFIG", value: stack.kubeconfig }];
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command, env, provideClusterInfo: true };
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "real", cluster }],
    users: [{ name: "plugin", user: { exec: { ...exec, interactiveMode: "Never" } } }],
    contexts: [{ name: "real", context: { cluster: "real", user: "plugin" } }],
    "current-context": "real",
  };
  await withFile(JSON.stringify(config), async (kubeconfig) => {
    const whoami = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    expect((await kubectl(whoami, { kubeconfig })).stdout).toBe("registration");
    await kubectl(["get", "namespaces"], { kubeconfig });
  });
});

test("a ClusterProfile follows its cluster, and goes with the wish together with its credential", async () => {
  await engineer.patchCluster("real", { spec: { displayName: "Real" } });
  await waitFor("the new name", async () => (await readProfile())?.spec.displayName === "Real");
  await engineer.patchCluster("real", { spec: { displayName: "real" } });
  const cluster = await engineer.getCluster("real");
  const { version, conditions } = (await readProfile()).status;
  expect(version?.kubernetes).toBe(cluster.status?.version);
  const { type: _, observedGeneration: __, ...shown } = conditionOf(cluster, "ControlPlaneReady") ?? {};
  expect(conditions).toEqual([{ type: "ControlPlaneHealthy", ...shown }]);
  const name = "real.cluster-profile.cloud.marina.dev";
  const secret = await waitForSecret(() => readSecret(engineer.namespace, name));
  await wish(null);
  await untilRefused(ofFlux(secret));
  await waitFor("both to go", async () => {
    const found = [await readProfile(), await readSecret(engineer.namespace, name)];
    return found.every((one) => one === undefined);
  });
});

test("a cluster that is deleted takes them along, from the Namespace of Argo CD, too", async () => {
  await allow("fluxSecret,argoCDSecret");
  await wish({ fluxSecret: true, argoCDSecret: true });
  await Promise.all([waitForSecret(readFlux), waitForSecret(readArgoCD)]);
  await kubectl(["delete", "clusters.cloud.marina.dev", "real", "-n", engineer.namespace, "--wait=false"]);
  const read = () => Promise.all([readFlux(), readArgoCD()]);
  await waitFor("both Secrets to go", async () => (await read()).every((secret) => secret === undefined));
  expect(await read()).toEqual([undefined, undefined]);
});
