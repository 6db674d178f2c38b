import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createId } from "../../shared/program/id.ts";
import { findCluster, findNodePool, projectObservations } from "../resources/project/index.ts";
import { startTestApp, type TestRequest } from "../testing/app.ts";
import { BODY, createDryRunFixture, type DryRunFixture, POOL, readTraces } from "./testing.ts";

const api = setUp(startTestApp);
let at: DryRunFixture;

interface Refusal {
  method: string;
  path: () => string;
  request?: TestRequest;
  code: string;
  arrange?: () => Promise<unknown>;
}

const limit = (limits: Record<string, number>) => () =>
  api.request("PUT", `/api/v1/admin/organizations/${at.orgId}/quotas`, { as: "staff", body: limits });

const refusals: [string, Refusal][] = [
  [
    "a bad body",
    { method: "POST", path: () => at.clusters, request: { body: { name: "" } }, code: "validation_failed" },
  ],
  [
    "an unknown version",
    {
      method: "POST",
      path: () => at.clusters,
      request: { body: { ...BODY, k8s_version: "1.11" } },
      code: "validation_failed",
    },
  ],
  [
    "a taken name",
    { method: "POST", path: () => at.clusters, request: { body: BODY }, code: "already_exists" },
  ],
  [
    "a malformed key",
    {
      method: "POST",
      path: () => at.clusters,
      request: { body: { ...BODY, name: "New" }, headers: { "idempotency-key": "two words" } },
      code: "bad_request",
    },
  ],
  [
    "too many clusters",
    {
      method: "POST",
      path: () => at.clusters,
      request: { body: { ...BODY, name: "New" } },
      code: "quota_exceeded",
      arrange: limit({ clusters: 1 }),
    },
  ],
  [
    "too many nodes",
    {
      method: "PUT",
      path: () => at.pool,
      request: { body: { desired_nodes: 3 } },
      code: "quota_exceeded",
      arrange: limit({ nodes: 2 }),
    },
  ],
  [
    "a pool's taken name",
    {
      method: "POST",
      path: () => `${at.cluster}/nodepools`,
      request: { body: POOL },
      code: "validation_failed",
    },
  ],
  [
    "a broken rule",
    { method: "PUT", path: () => at.pool, request: { body: { min_nodes: 5 } }, code: "validation_failed" },
  ],
  [
    "a stale If-Match",
    {
      method: "PUT",
      path: () => at.pool,
      request: { body: { disk_gb: 30 }, headers: { "if-match": '"77-1"' } },
      code: "precondition_failed",
    },
  ],
  [
    "a field of GitOps",
    {
      method: "PUT",
      path: () => at.pool,
      request: { body: { desired_nodes: 3 } },
      code: "managed_elsewhere",
      async arrange() {
        const served = await findNodePool(api.deps.db, at.orgId, at.clusterId, at.poolId);
        const metadata = { name: served?.name ?? "", namespace: `org-${at.orgId}` };
        const owner = { fieldManager: "flux", force: true };
        await api.deps.kube.apply(nodePoolKind, { metadata, spec: { desiredNodes: 2 } }, owner);
      },
    },
  ],
  [
    "a cluster that does not run",
    {
      method: "POST",
      path: () => `${at.cluster}/upgrade`,
      request: { body: { target_version: "1.35" } },
      code: "cluster_not_running",
      // The message has the status, which the operator changes once.
      arrange: () =>
        waitFor("the operator to report that the cluster is refused", async () => {
          const [cluster] = await api.deps.kube.listAll(clusterKind, { namespace: `org-${at.orgId}` });
          return cluster?.status?.phase === "Failed";
        }),
    },
  ],
  [
    "a cluster's name that GitOps applies",
    {
      method: "PUT",
      path: () => at.cluster,
      request: { body: { name: "New" } },
      code: "managed_elsewhere",
      async arrange() {
        const served = await findCluster(api.deps.db, at.orgId, at.clusterId);
        const metadata = { name: served?.name ?? "", namespace: `org-${at.orgId}` };
        const owner = { fieldManager: "argocd", force: true };
        await api.deps.kube.apply(clusterKind, { metadata, spec: { displayName: "First" } }, owner);
      },
    },
  ],
  [
    "a pool of a cluster that is being deleted",
    {
      method: "POST",
      path: () => `${at.cluster}/nodepools`,
      request: { body: { ...POOL, name: "late" } },
      code: "conflict",
      async arrange() {
        const served = await findCluster(api.deps.db, at.orgId, at.clusterId);
        if (served === undefined) throw new Error("not served");
        const deleting = {
          ...served,
          status: "deleting" as const,
          resourceVersion: served.resourceVersion + 1_000_000n,
        };
        await api.deps.db.transaction((tx) => projectObservations(tx, [{ object: deleting }]));
      },
    },
  ],
  [
    "a missing pool",
    { method: "DELETE", path: () => `${at.cluster}/nodepools/${createId()}`, code: "not_found" },
  ],
  [
    "a user of another organization",
    { method: "DELETE", path: () => at.cluster, request: { as: "bob" }, code: "not_found" },
  ],
];

describe("a dry run refuses", () => {
  // A refusal changes nothing: only cases that arrange something need their own fixture.
  let shared: DryRunFixture;
  beforeAll(async () => {
    shared = await createDryRunFixture(api);
  });

  test.each(refusals)(
    "%s with the same error as the real request",
    async (_, { method, path, request, code, arrange }) => {
      at = arrange === undefined ? shared : await createDryRunFixture(api);
      await arrange?.();
      const before = await readTraces(api, at.orgId);
      const dry = await api.request(method, `${path()}?dry_run=true`, request);
      const real = await api.request(method, path(), request);
      expect(real.body.error?.code).toBe(code);
      const withoutId = ({ error }: { error: object }) => ({ ...error, request_id: "" });
      expect([dry.status, withoutId(dry.body)]).toEqual([real.status, withoutId(real.body)]);
      expect(dry.headers.get("retry-after")).toBe(real.headers.get("retry-after"));
      expect(await readTraces(api, at.orgId)).toEqual(before);
    },
  );

  test("a viewer, like the real request", async () => {
    at = await createDryRunFixture(api);
    await api.addMember(at.orgId, "bob", "viewer");
    const dry = await api.request("DELETE", `${at.pool}?dry_run=true`, { as: "bob" });
    const real = await api.request("DELETE", at.pool, { as: "bob" });
    expect([dry.status, dry.body.error.message]).toEqual([403, real.body.error.message]);
  });

  test("any value but true and false", async () => {
    expect((await api.request("DELETE", `${at.pool}?dry_run=maybe`)).status).toBe(400);
    expect((await api.request("DELETE", `${at.pool}?dry_run=`)).status).toBe(400);
  });
});
