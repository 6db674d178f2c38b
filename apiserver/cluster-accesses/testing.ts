import { setTimeout as sleep } from "node:timers/promises";
import { afterAll } from "vitest";
import { unlessToRetry, waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { ClusterStatus } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { ANNOTATION_REQUEST_ID, LABEL_ID, LABEL_USER_ID } from "../../shared/crd/names.ts";
import type { DeepPartial } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import { findCluster, type ProjectedCluster, projectObservations } from "../resources/project/index.ts";
import type { TestApp, TestResponse } from "../testing/app.ts";
import { makeOrganization } from "../testing/issuer.ts";
import { setUpTestService } from "../testing/service.ts";
import { createClientKey, toAccessObject } from "./issue.ts";

const ADMIN_KUBECONFIG =
  "clusters: [{cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: Q0E=}}]";

/**
 * Starts an API server with an identity provider, an organization and ready clusters of these names for the tests of a file, as
 * `setUp` does, and deletes the clusters at the end.
 */
export function setUpAccessService<const Names extends readonly string[]>(...names: Names) {
  const { api, issuer } = setUpTestService();
  const org = setUp(() => makeOrganization(api, issuer));
  const owner = setUp(async () => org.owner);
  const ready = names.map((name) =>
    setUp(async () => {
      const body = { name, k8s_version: "1.34", plan: "scale" };
      const created = await api.request("POST", `${org.path}/clusters`, { token: owner.token, body });
      return makeReady(api.deps, org.id, created.body.id);
    }),
  );
  afterAll(async () => {
    for (const { id } of ready)
      await api.request("DELETE", `${org.path}/clusters/${id}`, { token: owner.token });
  });
  const clusters = ready as unknown as { [Name in keyof Names]: ProjectedCluster };
  return { api, issuer, org, owner, clusters };
}

/**
 * Projects a cluster as ready and gives it an admin kubeconfig, as the operator would. No operator runs, so nothing is
 * ever signed.
 */
export async function makeReady(
  { db, kube }: Pick<Deps, "db" | "kube">,
  orgId: string,
  clusterId: string,
): Promise<ProjectedCluster> {
  const ready = await reportReady({ db }, orgId, clusterId);
  await kube.create(
    secretKind,
    {
      metadata: { namespace: ready.namespace, name: nameAdminSecret(ready.name) },
      data: { value: Buffer.from(ADMIN_KUBECONFIG).toString("base64") },
    },
    { fieldManager: "test" },
  );
  return ready;
}

/** Projects a cluster as ready; a write of the cluster takes it back. */
export async function reportReady(
  { db }: Pick<Deps, "db">,
  orgId: string,
  clusterId: string,
  more: Partial<ClusterStatus> = {},
): Promise<ProjectedCluster> {
  const found = await findCluster(db, orgId, clusterId);
  if (found === undefined) throw new Error("no cluster");
  const status = { phase: "Ready" as const, firstReadyAt: new Date().toISOString(), ...more };
  const ready = {
    ...found,
    status: "running" as const,
    resourceVersion: found.resourceVersion + 1n,
    object: { ...found.object, status },
  };
  await db.transaction((tx) => projectObservations(tx, [{ object: ready }]));
  return ready;
}

/** Creates an access. It is refused until kube-controller-manager has counted the quota of a new Namespace. */
export async function createAccessObject(
  { kube }: Pick<Deps, "kube">,
  access: DeepPartial<ClusterAccess>,
): Promise<void> {
  await waitFor("the access to be created", () =>
    kube.create(clusterAccessKind, access, { fieldManager: "test" }),
  );
}

/**
 * Creates an access of a person as REST does, but without a request and a finalizer, or with another subject, and
 * without a certificate. Returns its id.
 */
export async function makeAccessObject(
  { kube }: Pick<Deps, "kube">,
  cluster: ProjectedCluster,
  { userId, subject = userId }: { userId: string; subject?: string },
  labels: Record<string, string> = {},
): Promise<string> {
  const id = createId();
  const request = { id, ttlSeconds: 86_400, notAfter: new Date(Date.now() + 86_400_000) };
  const { csr } = await createClientKey(userId, id);
  const object = toAccessObject(
    { principal: { kind: "user", userId }, requestId: "" },
    cluster,
    request,
    csr,
  );
  const { [ANNOTATION_REQUEST_ID]: _requestId, ...annotations } = object.metadata.annotations ?? {};
  const { finalizers: _finalizers, ...metadata } = object.metadata;
  await createAccessObject(
    { kube },
    {
      metadata: { ...metadata, annotations, labels: { ...metadata.labels, ...labels } },
      spec: { ...object.spec, subject },
    },
  );
  return id;
}

/** Until everything is revoked that was to be: a request waits for it for 5 s, and goes on with it afterwards. */
export async function waitForRevocations({ sql }: Pick<Deps, "sql">, orgId: string): Promise<void> {
  await waitFor("the end of all revocations", async () => {
    const pending = await sql`select from kubeconfig_revocations where org_id = ${orgId}`;
    return pending.length === 0;
  });
}

/**
 * Reports every access of a user as signed, as the operator would for a cluster with a control plane, until `signal`
 * aborts: again and again, because the operator takes it back.
 */
export async function keepSigned(
  { kube }: Pick<Deps, "kube">,
  namespace: string,
  userId: string,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = `${LABEL_USER_ID}=${userId}`;
  while (!signal.aborted) {
    for (const { metadata } of await kube.listAll(clusterAccessKind, { namespace, labelSelector })) {
      const condition = {
        type: "Ready" as const,
        status: "True" as const,
        reason: "Issued",
        message: "",
        lastTransitionTime: new Date().toISOString(),
        observedGeneration: 1,
      };
      await kube
        .mergePatch(
          clusterAccessKind,
          namespace,
          metadata.name,
          { status: { conditions: [condition], certificate: "signed" } },
          { fieldManager: "test", subresource: "status" },
        )
        .catch((error: unknown) => {
          if (!(error instanceof KubeError && error.isNotFound)) throw error;
        });
    }
    await sleep(20);
  }
}

/** Has a user's longest kubeconfig issued by REST, with the operator's part done by `keepSigned`. */
export async function issueSigned(
  { deps, request }: Pick<TestApp, "deps" | "request">,
  { id, orgId, namespace }: ProjectedCluster,
  { userId, token }: { userId: string; token: string },
): Promise<{ issued: TestResponse; access: ClusterAccess | undefined }> {
  const done = new AbortController();
  const signed = keepSigned(deps, namespace, userId, done.signal);
  await reportReady(deps, orgId, id);
  // A request waits 15 s for the signature, which the operator takes back meanwhile.
  const path = `/api/v1/organizations/${orgId}/clusters/${id}/kubeconfig`;
  try {
    const issued = await waitFor("the kubeconfig", async () => {
      const response = await request("POST", path, { token, body: { ttl_seconds: 604_800 } });
      return unlessToRetry(response);
    });
    const labelSelector = `${LABEL_ID}=${issued.body.id}`;
    const [access] = await deps.kube.listAll(clusterAccessKind, { namespace, labelSelector });
    return { issued, access };
  } finally {
    done.abort();
    await signed;
  }
}

/** Whether an access is there and stays. */
export async function holdsAccess(
  { kube }: Pick<Deps, "kube">,
  { namespace }: ProjectedCluster,
  id: string,
): Promise<boolean> {
  const found = await kube.listAll(clusterAccessKind, { namespace, labelSelector: `${LABEL_ID}=${id}` });
  return found.some(({ metadata }) => metadata.deletionTimestamp === undefined);
}
