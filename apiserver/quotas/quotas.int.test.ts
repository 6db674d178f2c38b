import { beforeEach, describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { ANNOTATION_QUOTAS, LABEL_CLUSTER_ID, LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { type NodePoolSpec, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { parseLimits, poolAmounts, type QuotaAmounts } from "../../shared/crd/quota.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { organizationJobs } from "../organizations/index.ts";
import { findCluster, projectObservations, toProjectedNodePool } from "../resources/project/index.ts";
import { writeIntents } from "../resources/table.ts";
import { startTestApp } from "../testing/app.ts";
import { withUnreachableKube } from "../testing/unreachable-kube.ts";
import { readUse } from "./store.ts";

const api = setUp(startTestApp);
let orgId: string;
let clusters: string;
let count = 0;

beforeEach(async () => {
  orgId = await api.createOrganization();
  clusters = `/api/v1/organizations/${orgId}/clusters`;
});

const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, max_nodes: 50 };
const SPEC: NodePoolSpec = {
  clusterName: "none",
  vcpus: 2,
  memoryGB: 4,
  diskGB: 20,
  desiredNodes: 1,
  minNodes: 1,
  maxNodes: 50,
};

/** A body whose plan has a class that takes no cluster, so that no machine is ever created for it. */
function aBody(change: Record<string, unknown> = {}) {
  count += 1;
  return { name: `Cluster ${count}`, k8s_version: "1.34", plan: "scale", ...change };
}

async function createCluster(change: Record<string, unknown> = {}) {
  const response = await api.request("POST", clusters, { body: aBody(change) });
  expect(response.status).toBe(202);
  const pools = `${clusters}/${response.body.id}/nodepools`;
  return { id: response.body.id as string, pools };
}

function setQuotas(limits: Record<string, number | null>) {
  return api.request("PUT", `/api/v1/admin/organizations/${orgId}/quotas`, { as: "staff", body: limits });
}

async function readUsed(): Promise<QuotaAmounts> {
  return readUse(api.deps.db, orgId);
}

function codesOf(responses: { status: number; body: { error?: { code: string } } }[]): string[] {
  return responses.map(({ status, body }) => body.error?.code ?? String(status)).sort();
}

const times = <T>(number: number, make: (index: number) => T) =>
  Array.from({ length: number }, (_, i) => make(i));

describe("a quota", () => {
  test("that is reached refuses the next object, and the error names quota, limit, use and growth", async () => {
    await setQuotas({ clusters: 1 });
    await createCluster();
    const response = await api.request("POST", clusters, { body: aBody() });
    expect(response.status).toBe(422);
    expect(response.body.error).toMatchObject({
      code: "quota_exceeded",
      message: expect.stringContaining("clusters: 1 allowed, 1 in use, 1 more requested"),
      details: [{ field: "clusters", code: "out_of_range" }],
    });
  });

  test.each<[string, Record<string, number>, Record<string, unknown>]>([
    ["node_pools", { node_pools: 0 }, {}],
    ["nodes", { nodes: 2 }, { desired_nodes: 3 }],
    ["nodes", { nodes: 3 }, { max_vcpus: 8 }],
    ["vcpus", { vcpus: 5 }, { desired_nodes: 3 }],
    ["memory_gb", { memory_gb: 11 }, { desired_nodes: 3 }],
  ])("of %s (%o) refuses a pool with %o, alone and with its cluster", async (name, limits, change) => {
    await setQuotas(limits);
    const whole = await api.request("POST", clusters, {
      body: aBody({ node_pools: [{ ...POOL, ...change }] }),
    });
    expect(whole.body.error).toMatchObject({ code: "quota_exceeded", details: [{ field: name }] });
    const { pools } = await createCluster();
    const alone = await api.request("POST", pools, { body: { ...POOL, ...change } });
    expect(alone.body.error).toMatchObject({ code: "quota_exceeded", details: [{ field: name }] });
    expect(await readUsed()).toMatchObject({ clusters: 1, nodePools: 0 });
  });

  test("counts an autoscaled pool at its maximum, and what kubectl created", async () => {
    const { id, pools } = await createCluster();
    await api.request("POST", pools, { body: { ...POOL, max_vcpus: 9, max_memory_gb: 40 } });
    const cluster = await findCluster(api.deps.db, orgId, id);
    const specs: Partial<NodePoolSpec>[] = [
      { desiredNodes: 3 },
      { minVCPUs: 4, maxVCPUs: 11 },
      { maxVCPUs: 20, maxMemoryGB: 17 },
      { maxMemoryGB: 8000, vcpus: 1, memoryGB: 1 },
      { minVCPUs: 6, maxVCPUs: 6, desiredNodes: 2 },
    ];
    for (const [index, change] of specs.entries()) {
      const metadata = {
        namespace: `org-${orgId}`,
        name: `by-hand-${index}`,
        labels: { [LABEL_ID]: createId(), [LABEL_ORG_ID]: orgId, [LABEL_CLUSTER_ID]: id },
      };
      const spec = { ...SPEC, clusterName: cluster?.name ?? "", ...change };
      const pool = await api.deps.kube.create(nodePoolKind, { metadata, spec }, { fieldManager: "kubectl" });
      const before = await readUsed();
      const object = toProjectedNodePool(pool, orgId, id);
      if (object === undefined) throw new Error("no id");
      await api.deps.db.transaction((tx) => projectObservations(tx, [{ object }]));
      const after = await readUsed();
      const grown = Object.fromEntries(
        Object.entries(after).map(([name, used]) => [name, used - before[name as keyof QuotaAmounts]]),
      );
      expect(grown).toEqual(poolAmounts(spec));
    }
    expect((await readUsed()).nodes).toBe(4 + 3 + 5 + 4 + 1000 + 2);
  });

  test("that is lowered stops nothing: what shrinks or stays is taken, only growth is refused", async () => {
    const { id, pools } = await createCluster({ node_pools: [{ ...POOL, desired_nodes: 5 }] });
    const [pool] = (await api.request("GET", pools)).body.items;
    expect((await setQuotas({ nodes: 2, clusters: 0 })).status).toBe(200);
    const put = (body: object) => api.request("PUT", `${pools}/${pool.id}`, { body });
    expect((await put({ name: "other", drain_timeout_seconds: 60 })).status).toBe(200);
    expect((await put({ desired_nodes: 4, min_nodes: 4 })).status).toBe(200);
    expect((await put({ desired_nodes: 5 })).body.error.code).toBe("quota_exceeded");
    expect((await api.request("PUT", `${clusters}/${id}`, { body: { name: "Other" } })).status).toBe(200);
    expect((await api.request("DELETE", `${pools}/${pool.id}`)).status).toBe(202);
  });
});

describe("at the same time", () => {
  test("20 creates of clusters never exceed the quota", async () => {
    await setQuotas({ clusters: 7 });
    const responses = await Promise.all(times(20, () => api.request("POST", clusters, { body: aBody() })));
    expect(codesOf(responses)).toEqual([...times(7, () => "202"), ...times(13, () => "quota_exceeded")]);
    expect((await readUsed()).clusters).toBe(7);
  });

  test("20 pools that grow never exceed the quota", async () => {
    const { pools } = await createCluster({ node_pools: times(20, (i) => ({ ...POOL, name: `p${i}` })) });
    const { body } = await api.request("GET", pools);
    await setQuotas({ nodes: 29 });
    const responses = await Promise.all(
      body.items.map((pool: { id: string }) =>
        api.request("PUT", `${pools}/${pool.id}`, { body: { desired_nodes: 3, min_nodes: 1 } }),
      ),
    );
    expect(codesOf(responses)).toEqual([...times(4, () => "200"), ...times(16, () => "quota_exceeded")]);
    expect((await readUsed()).nodes).toBe(28);
  });
});

describe("a reservation", () => {
  const reserved = () => api.deps.db.select().from(writeIntents);

  test("ends with the write that it was taken for, and with one that was refused", async () => {
    const { pools } = await createCluster({ node_pools: [POOL] });
    const taken = await api.request("POST", pools, { body: POOL });
    expect(taken.body.error.code).toBe("validation_failed");
    const [pool] = (await api.request("GET", pools)).body.items;
    expect((await api.request("PUT", `${pools}/${pool.id}`, { body: { desired_nodes: 2 } })).status).toBe(
      200,
    );
    expect(await reserved()).toEqual([]);
    expect((await readUsed()).nodes).toBe(2);
  });

  test("ends when the write was certainly not applied, and stays when its outcome is unknown", async () => {
    const { pools } = await createCluster();
    const { kube } = api.deps;
    const post = async (client: typeof kube) => {
      api.deps.kube = client;
      const { status } = await api.request("POST", pools, { body: POOL });
      api.deps.kube = kube;
      return status;
    };
    expect(await withUnreachableKube(post)).toBe(503);
    expect(await reserved()).toEqual([]);
    const lost = () => Promise.reject(new Error("the response was lost"));
    expect(await post({ ...kube, create: lost })).toBe(500);
    expect(await reserved()).toHaveLength(1);
    expect((await readUsed()).nodePools).toBe(1);
  });
});

describe("the quotas of an organization", () => {
  const path = () => `/api/v1/admin/organizations/${orgId}/quotas`;

  test("are the defaults until staff set one; null is the default again; GET may be sent back", async () => {
    const first = await api.request("GET", path(), { as: "staff" });
    expect(first.body).toMatchObject({
      org_id: orgId,
      clusters: null,
      effective: { clusters: 100 },
      updated_at: null,
    });
    const set = await setQuotas({ clusters: 3, nodes: 0 });
    expect(set.body).toMatchObject({
      clusters: 3,
      nodes: 0,
      vcpus: null,
      effective: { clusters: 3, vcpus: 4000 },
    });
    const again = await api.request("PUT", path(), { as: "staff", body: set.body });
    expect(again.body).toMatchObject({ clusters: 3, nodes: 0, vcpus: null });
    const back = await setQuotas({ clusters: null });
    expect(back.body).toMatchObject({ clusters: null, nodes: 0, effective: { clusters: 100 } });
    const late = await api.request("PUT", path(), {
      as: "staff",
      body: { nodes: 1 },
      headers: { "if-match": set.headers.get("etag") ?? "" },
    });
    expect(late.status).toBe(412);
  });

  test("are shown to the members as staff sees them, with what is kept in tickets", async () => {
    await setQuotas({ clusters: 3 });
    const shown = await api.request("GET", `/api/v1/organizations/${orgId}/quotas`);
    expect(shown.body).toEqual((await api.request("GET", path(), { as: "staff" })).body);
    expect(shown.body).toMatchObject({ clusters: 3, used: { clusters: expect.any(Number) } });
    expect(shown.body.stores.map(({ name }: { name: string }) => name)).toContain("open_tickets");
    const headers = { "if-none-match": shown.headers.get("etag") ?? "" };
    const again = await api.request("GET", `/api/v1/organizations/${orgId}/quotas`, { headers });
    expect(again.status).toBe(304);
  });

  test("leave an audit row with before and after", async () => {
    await setQuotas({ clusters: 3 });
    const rows = await api.deps.db.select().from(auditLog);
    const own = rows.filter((row) => row.orgId === orgId && row.action === "organization.set_quotas");
    expect(own).toEqual([
      expect.objectContaining({
        actor: expect.objectContaining({ kind: "staff" }),
        before: expect.objectContaining({ clusters: null }),
        after: expect.objectContaining({ clusters: 3 }),
      }),
    ]);
  });

  test("are written to the Namespace for the operator: at once, and again after they were removed", async () => {
    const read = async () => {
      const namespace = await api.deps.kube.get(namespaceKind, undefined, `org-${orgId}`);
      return parseLimits(namespace?.metadata.annotations?.[ANNOTATION_QUOTAS]);
    };
    expect(await read()).toMatchObject({ clusters: 100, memoryGB: 16_000 });
    await setQuotas({ memory_gb: 8 });
    expect(await read()).toMatchObject({ clusters: 100, memoryGB: 8 });
    const none = { metadata: { annotations: { [ANNOTATION_QUOTAS]: null } } };
    await api.deps.kube.mergePatch(namespaceKind, undefined, `org-${orgId}`, none, {
      fieldManager: "kubectl",
    });
    // They fail when another test removes a Namespace that they have listed.
    await waitFor("a run of the jobs", async () => {
      for (const job of organizationJobs(api.deps)) await job.run(new AbortController().signal);
      return true;
    });
    expect(await read()).toMatchObject({ memoryGB: 8 });
  });
});

test("staff find every organization and every cluster", async () => {
  const { id } = await createCluster({ name: "Findable" });
  const all = await api.request("GET", "/api/v1/admin/organizations?limit=100", { as: "staff" });
  expect(all.body.items.map((item: { id: string }) => item.id)).toContain(orgId);
  const one = await api.request("GET", `/api/v1/admin/organizations/${orgId}`, { as: "staff" });
  expect(one.body).toMatchObject({ id: orgId, plan: "starter" });
  const bySlug = await api.request("GET", `/api/v1/admin/organizations?slug=${one.body.slug}`, {
    as: "staff",
  });
  expect(bySlug.body.items).toEqual([one.body]);
  const found = await api.request("GET", `/api/v1/admin/clusters?org_id=${orgId}&name=FINDABLE`, {
    as: "staff",
  });
  expect(found.body.items).toEqual([expect.objectContaining({ id, org_id: orgId })]);
  const everywhere = await api.request("GET", "/api/v1/admin/clusters?limit=100", { as: "staff" });
  expect(new Set(everywhere.body.items.map((item: { org_id: string }) => item.org_id)).size).toBeGreaterThan(
    1,
  );
});
