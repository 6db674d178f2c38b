import { expect, test } from "vitest";
import { StepError } from "../../shared/controller/plan.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { type RegistrationPart, registrationParts } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_ALLOWED_REGISTRATION,
  FINALIZER,
  GROUP,
  LABEL_CREDENTIAL,
  LABEL_REGISTRATION,
} from "../../shared/crd/names.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { RunContext } from "../caches.ts";
import { nameCaSecret } from "../capi/secrets.ts";
import { aCluster, anCapiCluster, NAMESPACE, NOW } from "../cluster/testing.ts";
import type { RegistrationOutcome } from "../tenant/tenant-findings.ts";
import { createTestCaches } from "../testing-caches.ts";
import { clusterProfileKind, OutdatedDefinitionError } from "./cluster-profile.ts";
import { type RegistrationDeps, runRegistration } from "./controller.ts";
import { composeRegistrationFailure } from "./failure.ts";
import { placeSecret } from "./secret.ts";

const unused = () => Promise.reject(new Error("it is not called"));
const forbidden = () =>
  Promise.reject(new KubeError({ status: 403, reason: "Forbidden", kubeMessage: "it is forbidden" }));

/** A cluster that is to be registered, by default with Flux, where `allowed` is allowed. */
function world(allowed = "fluxSecret", wished: RegistrationPart = "fluxSecret") {
  const caches = createTestCaches();
  const cluster = aCluster({ registration: { [wished]: true } });
  const key = objectKey(cluster);
  const { namespace = "", name } = cluster.metadata;
  const annotations = { [ANNOTATION_ALLOWED_REGISTRATION]: allowed };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, annotations } });
  caches.clusters.set(cluster);
  caches.capiClusters.set(anCapiCluster());
  const ca = nameCaSecret(key).split("/").at(-1) ?? "";
  const secret = { namespace, name: ca, uid: ca, resourceVersion: "1" };
  caches.clusterSecrets.set({ apiVersion: "v1", kind: "Secret", metadata: secret });
  caches.issuedCredentials.set({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace,
      name: nameAdminSecret(name),
      ownerReferences: [
        { apiVersion: "v1", kind: "Cluster", name, uid: cluster.metadata.uid ?? "", controller: true },
      ],
    },
    data: { value: "fingerprint", "ca.crt": "CA" },
  });
  const outcomes: (RegistrationOutcome | undefined)[] = [];
  const deps: RegistrationDeps = {
    client: { get: () => Promise.resolve(undefined) },
    caches,
    apiserver: { namespace: "marina", name: "marina-apiserver" },
    argoCDNamespace: undefined,
    tenantFindings: { recordRegistration: (_, outcome) => outcomes.push(outcome) },
    now: () => NOW,
    keys: new Map(),
  };
  const haveAccess = (part: RegistrationPart, status: ClusterAccess["status"] = {}) => {
    deps.keys.set(`${key} ${part}`, { access: "next", key: "private" });
    caches.accesses.set({
      apiVersion: "cloud.marina.dev/v1",
      kind: "ClusterAccess",
      metadata: { namespace, name: "next", labels: { [LABEL_REGISTRATION]: part }, finalizers: [FINALIZER] },
      spec: { clusterName: name, subject: "registration", ttlSeconds: 3600, csr: "csr" },
      status,
    });
  };
  const haveSecret = (part: RegistrationPart) => {
    const place = placeSecret(part, key, "argocd");
    const metadata = { ...place, labels: { [LABEL_CREDENTIAL]: "registration" } };
    deps.caches.issuedCredentials.set({ apiVersion: "v1", kind: "Secret", metadata });
    return place.name;
  };
  const run = (writes: object = {}) => {
    const client = { apply: unused, create: unused, delete: unused, ...writes };
    const signal = new AbortController().signal;
    return runRegistration(deps, key, {
      client,
      signal,
      onWritten: () => undefined,
    } as unknown as RunContext);
  };
  return { deps, key, outcomes, haveAccess, haveSecret, run };
}

test("an access whose token is gone is not called registered", async () => {
  const { outcomes, haveAccess, run } = world();
  haveAccess("fluxSecret", { tokenSecretName: "gone" });
  await expect(run()).rejects.toThrow("there is no token in the Secret");
  expect(outcomes).toMatchObject([
    {
      status: "Unknown",
      reason: "RegistrationFailed",
      message: expect.stringContaining("there is no token in the Secret"),
    },
  ]);
});

test("an access that may not be created is said, with the cause", async () => {
  const { outcomes, run } = world();
  await expect(run({ create: forbidden })).rejects.toThrow("it is forbidden");
  expect(outcomes).toMatchObject([
    { status: "Unknown", reason: "RegistrationFailed", message: expect.stringContaining("it is forbidden") },
  ]);
});

test("what is allowed no more and cannot be removed is said", async () => {
  const { outcomes, haveAccess, run } = world("argoCDSecret");
  haveAccess("fluxSecret");
  await expect(run({ delete: forbidden })).rejects.toThrow("it is forbidden");
  const message = expect.stringContaining("cannot be removed: it is forbidden");
  expect(outcomes).toMatchObject([{ status: "Unknown", reason: "RegistrationFailed", message }]);
});

test.each(registrationParts)(
  "the credential of %s is revoked before anything else of it is deleted",
  async (part) => {
    const { haveAccess, haveSecret, run } = world("", part);
    haveAccess(part);
    const secret = haveSecret(part);
    const deleted: string[] = [];
    await run({ delete: async (_: unknown, __: string, name: string) => void deleted.push(name) });
    expect(deleted).toEqual(["next", secret]);
  },
);

test("a ClusterProfile that cannot be deleted leaves no valid credential, and is deleted later, before its Secret", async () => {
  const { deps, outcomes, haveAccess, haveSecret, run } = world("", "clusterProfile");
  haveAccess("clusterProfile");
  const secret = haveSecret("clusterProfile");
  const deleted: string[] = [];
  const remove = async ({ plural }: { plural: string }, _: string, name: string) =>
    void deleted.push(`${plural} ${name}`);
  deps.client.get = forbidden;
  await expect(run({ delete: remove })).rejects.toThrow("it is forbidden");
  expect(deleted).toEqual(["clusteraccesses next"]);
  const message = expect.stringContaining("The ClusterProfile blue cannot be removed: it is forbidden");
  expect(outcomes).toMatchObject([{ status: "Unknown", reason: "RegistrationFailed", message }]);
  deps.caches.accesses.remove(`${NAMESPACE}/next`);
  const profile = { metadata: { name: "blue" }, spec: { clusterManager: { name: GROUP } } };
  deps.client.get = () => Promise.resolve(profile as never);
  await run({ delete: remove });
  expect(deleted.slice(1)).toEqual(["clusterprofiles blue", `secrets ${secret}`]);
});

test("a definition of ClusterProfile that lacks where the credential is counts as not installed", async () => {
  const failure = new StepError(
    { verb: "apply", kind: clusterProfileKind as never, object: { metadata: { name: "blue" } } as never },
    new OutdatedDefinitionError("no status.accessProviders"),
  );
  expect(composeRegistrationFailure("clusterProfile", failure)).toMatchObject({
    outcome: {
      status: "False",
      reason: "ClusterProfileNotInstalled",
      message: expect.stringContaining("has no status.accessProviders; ask the platform's operator"),
    },
    requeueAfterMs: 60_000,
  });
});

test("of a process that stops in between nothing is recorded", async () => {
  const { outcomes, run } = world();
  const aborted = () =>
    Promise.reject(new KubeError({ status: 0, reason: "Aborted", kubeMessage: "the program stops" }));
  await expect(run({ create: aborted })).rejects.toThrow("the program stops");
  expect(outcomes).toEqual([]);
});

test("the private key of an access is forgotten when that is allowed no more before it is issued", async () => {
  const { deps, key, haveAccess, run } = world("argoCDSecret");
  haveAccess("fluxSecret");
  await run({ delete: () => Promise.resolve() });
  expect(deps.keys.has(`${key} fluxSecret`)).toBe(false);
});
