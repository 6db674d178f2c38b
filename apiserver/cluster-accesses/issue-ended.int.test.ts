import { afterAll, expect, test } from "vitest";
import { unlessToRetry, waitFor } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_ATTEMPT_ID, LABEL_CLUSTER_ID, LABEL_ID } from "../../shared/crd/names.ts";
import { createId } from "../../shared/program/id.ts";
import { author } from "../clusters/create/testing.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { ApiError } from "../http/errors.ts";
import { type ProjectedCluster, projectObservations } from "../resources/project/index.ts";
import { issueKubeconfig } from "./issue.ts";
import { holdsAccess, keepSigned, makeAccessObject, reportReady, setUpAccessService } from "./testing.ts";

const { api, org, owner, clusters } = setUpAccessService("a", "b", "c", "d");
afterAll(async () => {
  // A request finds none that the projection takes for deleted.
  for (const { namespace, name } of clusters) await api.deps.kube.delete(clusterKind, namespace, name);
});

test.each([
  ["revokes what each of its earlier attempts has left, with an audit row", "repeated", false],
  ["revokes what its first attempt has left without a label of the attempt", "unlabelled", true],
])("a repeated request %s", async (_what, key, isUnlabelled) => {
  const { sql } = api.deps;
  const cluster = clusters[3] as ProjectedCluster;
  await reportReady(api.deps, org.id, cluster.id);
  // Until a new Namespace has accesses at all: a refusal would be kept.
  await makeAccessObject(api.deps, cluster, owner);
  const path = `/api/v1/organizations/${org.id}/clusters/${cluster.id}/kubeconfig`;
  const headers = { "idempotency-key": key };
  const done = new AbortController();
  const signed = keepSigned(api.deps, cluster.namespace, owner.userId, done.signal);
  const ids: string[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const { status, body } = await waitFor("the kubeconfig", async () => {
      const response = await api.request("POST", path, {
        token: owner.token,
        body: { ttl_seconds: 600 },
        headers,
      });
      return unlessToRetry(response);
    });
    expect([status, body.error]).toEqual([201, undefined]);
    ids.push(body.id);
    // As an earlier version left it.
    if (isUnlabelled && attempt === 0) await removeAttemptLabel(cluster, body.id);
    // As a process leaves it that ends before it has stored the response.
    await sql`update idempotency_keys set status = null, lease_expires_at = now() where key = ${key}`;
  }
  done.abort();
  await signed;
  const held = await Promise.all(ids.map((id) => holdsAccess(api.deps, cluster, id)));
  expect(held).toEqual([false, false, true]);
  const rows = await sql`select target_id from audit_log
    where target_id in ${sql(ids)} and action = 'cluster_access.revoke' and result = 'done'`;
  expect(new Set(rows.map((row) => row.target_id))).toEqual(new Set(ids.slice(0, 2)));
  expect(rows).toHaveLength(2);
});

async function removeAttemptLabel({ namespace }: ProjectedCluster, id: string): Promise<void> {
  const { kube } = api.deps;
  const [access] = await kube.listAll(clusterAccessKind, { namespace, labelSelector: `${LABEL_ID}=${id}` });
  const patch = { metadata: { labels: { [LABEL_ATTEMPT_ID]: null } } };
  await kube.mergePatch(clusterAccessKind, namespace, access?.metadata.name ?? "", patch, {
    fieldManager: "test",
  });
}

/** What the projection makes of a cluster, and whether it is deleted. */
type End = (cluster: ProjectedCluster) => { object: ProjectedCluster; deleted?: boolean };

test.each<[string, string, number, End]>([
  ["is deleted", "not_found", 0, (object) => ({ object, deleted: true })],
  [
    "begins to be deleted",
    "cluster_not_ready",
    1,
    (object) => ({ object: { ...object, status: "deleting" } }),
  ],
  [
    "is suspended",
    "conflict",
    2,
    ({ object, ...cluster }) => ({
      object: { ...cluster, object: { ...object, spec: { ...object.spec, suspend: true } } },
    }),
  ],
])(
  "a kubeconfig of a cluster that %s meanwhile is %s, and leaves no access",
  async (_what, code, index, end) => {
    const { id, namespace } = clusters[index] as ProjectedCluster;
    const cluster = await reportReady(api.deps, org.id, id);
    const { object, deleted } = end({ ...cluster, resourceVersion: cluster.resourceVersion + 1n });
    await api.deps.db.transaction((tx) => projectObservations(tx, [{ object, deleted: deleted === true }]));
    const done = new AbortController();
    const signed = keepSigned(api.deps, namespace, author.principal.userId, done.signal);
    try {
      const refusal = await waitFor("the refusal", async () => {
        const request = { id: createId(), ttlSeconds: 600 };
        const error = await issueKubeconfig(api.deps, asAuthorized(author), cluster, request).catch(
          (thrown: unknown) => thrown,
        );
        // The operator takes the signature back, and a new Namespace has no quota for a while.
        const isTooEarly =
          error instanceof ApiError && ["dependency_unavailable", "quota_exceeded"].includes(error.code);
        return isTooEarly ? undefined : error;
      });
      expect(refusal).toMatchObject({ code });
    } finally {
      done.abort();
      await signed;
    }
    const labelSelector = `${LABEL_CLUSTER_ID}=${id}`;
    const left = await api.deps.kube.listAll(clusterAccessKind, { namespace, labelSelector });
    expect(left.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([]);
  },
);
