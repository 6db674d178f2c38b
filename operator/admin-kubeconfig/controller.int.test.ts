import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { FINALIZER, LABEL_ID, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { roleBindingKind, roleKind, type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import { type Kind, metadataOnly } from "../../shared/kube/kind.ts";
import { metadataOf, objectKey } from "../../shared/kube/object.ts";
import { composeCaData, makeAuthority } from "../../shared/tenant/testing.ts";
import type { Caches } from "../caches.ts";
import { capiClusterKind } from "../capi/kinds.ts";
import { trimAccessSecret } from "../capi/secrets.ts";
import { makeRunContext } from "../cluster/testing-run.ts";
import { START } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { type AdminKubeconfigDeps, runAdminKubeconfig } from "./controller.ts";
import { composeAdminSecret, trimCredential } from "./kubeconfig.ts";

const authority = await makeAuthority("one");
const CA = "demo-ca";
const CREDENTIAL = nameAdminSecret("demo");
const OF_CA = `get secrets ${CA}`;
const RECORD = `patch secrets ${CREDENTIAL}`;
const ISSUE = `apply secrets ${CREDENTIAL}`;
const ENDPOINT = { host: "api.demo.test", port: 6443 };
const CONTROL_PLANE = {
  apiGroup: "controlplane.cluster.x-k8s.io",
  kind: "KubeadmControlPlane",
  name: "demo",
};
const TEST = { fieldManager: "test" };
const ANOTHER_VERSION = { metadata: { annotations: { "example.com/note": "another version" } } };

let api: TestApi;
beforeEach(async () => {
  api = await openTestApi();
});
afterEach(() => api.close());

/**
 * A cluster whose control plane is not up yet, and its CA. The namespace is of no organization, so the operator of the
 * stack never reconciles the cluster: its finalizer and its Cluster API cluster are responses to dry runs, for our
 * caches alone.
 */
async function start() {
  const { client, namespace } = api;
  const caches = createTestCaches(client);
  const demo = { namespace, name: "demo" };
  const labels = { [LABEL_ID]: randomUUID() };
  await client.create(clusterKind, { metadata: { ...demo, labels }, spec: idleClusterSpec }, TEST);
  const dryRun = { ...TEST, dryRun: true };
  const registered = { metadata: { finalizers: [FINALIZER] } };
  const cluster = await client.mergePatch(clusterKind, namespace, "demo", registered, dryRun);
  caches.clusters.set(cluster);
  const capi = {
    metadata: { ...demo, labels },
    spec: { controlPlaneRef: CONTROL_PLANE, controlPlaneEndpoint: ENDPOINT },
  };
  const replaceEngine = async () => {
    caches.capiClusters.set(await client.create(capiClusterKind, capi, dryRun));
  };
  await replaceEngine();
  const ca = { metadata: { namespace, name: CA }, data: composeCaData(authority) };
  await client.create(secretKind, ca, TEST);

  const seeCa = async () => {
    const seen = trimAccessSecret(await read(metadataOnly(secretKind), CA));
    if (seen !== undefined) caches.clusterSecrets.set(seen);
  };
  await seeCa();
  const requests: string[] = [];
  const recorded = recordSecrets(client, requests);
  const deps: AdminKubeconfigDeps = {
    client: recorded,
    caches,
    apiserver: { namespace: "marina-system", name: "marina-apiserver" },
    accessHealth: { record: (_key, _part, attempt) => attempt() },
    now: () => START,
  };
  const context = makeRunContext({ ...client, ...recorded }, FINALIZER, MANAGER_OPERATOR);
  /**
   * Runs twice, the second time with the writes of the first in the caches; returns the requests for Secrets of each
   * run.
   */
  const run = async () => {
    const runs: string[][] = [];
    for (let index = 0; index < 2; index++) {
      await seeWritten(caches);
      await runAdminKubeconfig(deps, objectKey(cluster), context);
      runs.push(requests.splice(0));
    }
    return runs;
  };
  return { cluster, seeCa, run, replaceEngine };
}

test("a kubeconfig is issued with the CA, and a converged one needs no request", async () => {
  const { run } = await start();
  expect(await run()).toEqual([[OF_CA, ISSUE], []]);
  expect(await readIssuedCa()).toBe(authority.certificate);
});

test("another version of the CA's Secret with the same certificate is recorded, and the kubeconfig stays", async () => {
  const { run, seeCa } = await start();
  await run();
  const { data: before } = await read(secretKind, CREDENTIAL);
  await patchCa(ANOTHER_VERSION);
  await seeCa();
  expect(await run()).toEqual([[OF_CA, RECORD], []]);
  expect((await read(secretKind, CREDENTIAL)).data).toEqual(before);
});

test("a new CA of the same cluster is recorded as a loss, and the kubeconfig stays until the CA is back", async () => {
  const { run, seeCa } = await start();
  await run();
  await patchCa({ data: composeCaData(await makeAuthority("two")) });
  await seeCa();
  expect(await run()).toEqual([[OF_CA, RECORD], []]);
  expect(await readIssuedCa()).toBe(authority.certificate);
  await patchCa({ data: composeCaData(authority) });
  await seeCa();
  expect(await run()).toEqual([[OF_CA, RECORD], []]);
  const { annotations = {} } = (await read(secretKind, CREDENTIAL)).metadata;
  expect(annotations).not.toHaveProperty(["cloud.marina.dev/lost-authority"]);
});

test("the CA of another cluster of the name leads to a new kubeconfig", async () => {
  const { run, seeCa, replaceEngine } = await start();
  await run();
  const other = await makeAuthority("two");
  await patchCa({ data: composeCaData(other) });
  await seeCa();
  await replaceEngine();
  expect(await run()).toEqual([[OF_CA, ISSUE], []]);
  expect(await readIssuedCa()).toBe(other.certificate);
});

test("a kubeconfig without a revision is compared with its CA once, and stays", async () => {
  const { run, cluster } = await start();
  const basis = { clusterId: cluster.metadata.labels?.[LABEL_ID] ?? "" };
  const issued = composeAdminSecret(
    cluster,
    {
      ...basis,
      credentialsGeneration: 0,
      server: `https://${ENDPOINT.host}:${ENDPOINT.port}`,
      accessSource: "ca",
      capiUid: "",
    },
    { certificate: authority.certificate, revision: "" },
    {
      credential: { certificate: "certificate", key: "key" },
      expiresAt: new Date(START.getTime() + 7 * 24 * 3600 * 1000),
    },
    START,
  );
  delete issued.metadata.annotations?.["cloud.marina.dev/credential-authority"];
  await api.client.create(secretKind, issued, { fieldManager: MANAGER_OPERATOR });
  expect(await run()).toEqual([[OF_CA, RECORD], []]);
  expect((await read(secretKind, CREDENTIAL)).data).toEqual(issued.data);
});

test("a cache that is older than the CA that was read leads to no write", async () => {
  const { run } = await start();
  await patchCa(ANOTHER_VERSION);
  expect(await run()).toEqual([[OF_CA, ISSUE], [OF_CA]]);
});

/** The caches catch up with our own writes. */
async function seeWritten(caches: Caches): Promise<void> {
  const find = <T>(kind: Kind<T>) => api.client.get(kind, api.namespace, CREDENTIAL);
  const role = await find(roleKind);
  if (role !== undefined) caches.roles.set(role);
  const binding = await find(roleBindingKind);
  if (binding !== undefined) caches.roleBindings.set(binding);
  const credential = await find(secretKind);
  if (credential !== undefined) caches.issuedCredentials.set(trimCredential(credential));
}

/** This client, which also notes each request for a Secret before it makes it. */
function recordSecrets(
  client: KubeClient,
  requests: string[],
): Pick<KubeClient, "get" | "apply" | "mergePatch"> {
  const note = (verb: string, { plural }: Kind<unknown>, name: string) => {
    if (plural === secretKind.plural) requests.push(`${verb} ${plural} ${name}`);
  };
  return {
    get(kind, namespace, name, options) {
      note("get", kind, name);
      return client.get(kind, namespace, name, options);
    },
    apply(kind, object, options) {
      note("apply", kind, metadataOf(object).name);
      return client.apply(kind, object, options);
    },
    mergePatch(kind, namespace, name, patch, options) {
      note("patch", kind, name);
      return client.mergePatch(kind, namespace, name, patch, options);
    },
  };
}

async function read<T>(kind: Kind<T>, name: string): Promise<T> {
  const object = await api.client.get(kind, api.namespace, name);
  if (object === undefined) throw new Error(`there is no ${kind.kind} ${name}`);
  return object;
}

/** The CA's certificate (PEM) in the kubeconfig that the API server holds. */
async function readIssuedCa(): Promise<string | undefined> {
  return trimCredential(await read(secretKind, CREDENTIAL)).data?.["ca.crt"];
}

function patchCa(patch: object): Promise<Secret> {
  return api.client.mergePatch(secretKind, api.namespace, CA, patch, TEST);
}
