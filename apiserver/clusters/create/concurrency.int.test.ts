import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unlessToRetry } from "../../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { createId } from "../../../shared/program/id.ts";
import { writeIntents } from "../../resources/table.ts";
import type { TestApp, TestResponse } from "../../testing/app.ts";
import { startTestClusters } from "../../testing/service.ts";

let api: TestApp;
let orgId: string;
let clusters: string;

beforeAll(async () => {
  ({ api, orgId, clusters } = await startTestClusters());
});
afterAll(async () => {
  const { body } = await api.request("GET", clusters);
  for (const { id } of body.items) await api.request("DELETE", `${clusters}/${id}`);
  await api.close();
});

const POOL = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, max_nodes: 1000 };
const PLAN = { k8s_version: "1.34", plan: "scale" };

async function makePool(name: string): Promise<string> {
  const { body } = await createOnce(clusters, { name, ...PLAN, node_pools: [POOL] });
  const pools = await api.request("GET", `${clusters}/${body.id}/nodepools`);
  return `${clusters}/${body.id}/nodepools/${pools.body.items[0].id}`;
}

function count(responses: readonly TestResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Repeats a request that is refused for a while, as its response asks for. */
async function repeatWhileAsked(send: () => Promise<TestResponse>): Promise<TestResponse> {
  for (;;) {
    const response = unlessToRetry(await send());
    if (response !== undefined) return response;
  }
}

/** Creates it, however often a busy server asks for another attempt. */
function createOnce(path: string, body: object): Promise<TestResponse> {
  const headers = { "idempotency-key": createId() };
  return repeatWhileAsked(() => api.request("POST", path, { body, headers }));
}

async function auditOf(path: string, action: string) {
  const target = path.split("/").at(-1) ?? "";
  return api.deps.sql`select before, after from audit_log where target_id = ${target} and action = ${action}`;
}

describe("fifty PUTs of one pool at once", () => {
  const times = Array.from({ length: 50 }, (_, index) => index + 2);

  test("without If-Match: every 200 was applied, no request waits for ever, the rest get 409 or 429 with Retry-After", async () => {
    const path = await makePool("fifty without");
    const responses = await Promise.all(
      times.map((nodes) => api.request("PUT", path, { body: { desired_nodes: nodes } })),
    );
    const counts = count(responses);
    expect(Object.keys(counts).every((status) => ["200", "409", "429"].includes(status))).toBe(true);
    const done = responses.filter(({ status }) => status === 200);
    expect(done.length).toBeGreaterThan(0);
    const refused = responses.filter(({ status }) => status !== 200);
    expect(refused.filter(({ headers }) => !(Number(headers.get("retry-after")) > 0))).toEqual([]);
    const { body: now } = await api.request("GET", path);
    expect(done.map(({ body }) => body.desired_nodes)).toContain(now.desired_nodes);
    const rows = await auditOf(path, "node_pool.update");
    expect(rows).toHaveLength(done.length);
    // One change after the other: what one row left, another one found.
    const before = rows.map((row) => row.before?.desired_nodes);
    const after = rows.map((row) => row.after?.desired_nodes);
    expect(new Set(before)).toEqual(new Set([1, ...after].filter((nodes) => nodes !== now.desired_nodes)));
  });

  test("with If-Match: exactly one is carried out, all others are 412", async () => {
    const path = await makePool("fifty with");
    const { headers } = await api.request("GET", path);
    const tag = headers.get("etag") ?? "";
    const put = (nodes: number) =>
      api.request("PUT", path, { body: { desired_nodes: nodes }, headers: { "if-match": tag } });
    const responses = await Promise.all(times.map((nodes) => repeatWhileAsked(() => put(nodes))));
    expect(count(responses)).toEqual({ 200: 1, 412: 49 });
    expect(await auditOf(path, "node_pool.update")).toHaveLength(1);
  });

  test("that repeat after Retry-After all succeed", async () => {
    const path = await makePool("patient");
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        await expect
          .poll(
            async () =>
              (await api.request("PUT", path, { body: { node_labels: { writer: `w${index}` } } })).status,
            { interval: 50 },
          )
          .toBe(200);
      }),
    );
    expect(await auditOf(path, "node_pool.update")).toHaveLength(12);
  });
});

describe("twenty creates under one Idempotency-Key", () => {
  const repeat = async (path: string, body: object) => {
    const headers = { "idempotency-key": createId() };
    const ask = () => api.request("POST", path, { body, headers });
    const responses = await Promise.all(Array.from({ length: 20 }, ask));
    expect([202, 409]).toEqual(expect.arrayContaining(responses.map(({ status }) => status)));
    const replay = await ask();
    expect(replay.status).toBe(202);
    for (const { status, body: created } of responses)
      if (status === 202) expect(created).toEqual(replay.body);
    return replay.body;
  };

  test("create one cluster with its pools", async () => {
    const created = await repeat(clusters, { name: "Twenty", ...PLAN, node_pools: [POOL] });
    const objects = await api.deps.kube.listAll(clusterKind, { namespace: `org-${orgId}` });
    const own = objects.filter(({ spec }) => spec.displayName === "Twenty");
    expect(own).toHaveLength(1);
    const pools = await api.deps.kube.listAll(nodePoolKind, { namespace: `org-${orgId}` });
    expect(pools.filter(({ spec }) => spec.clusterName === own[0]?.metadata.name)).toHaveLength(1);
    expect(await auditOf(created.id, "cluster.create")).toHaveLength(1);
  });

  test("create one node pool", async () => {
    const { body: cluster } = await createOnce(clusters, { name: "Host", ...PLAN });
    const path = `${clusters}/${cluster.id}/nodepools`;
    const created = await repeat(path, POOL);
    expect((await api.request("GET", path)).body.items.map(({ id }: { id: string }) => id)).toEqual([
      created.id,
    ]);
    expect(await auditOf(created.id, "node_pool.create")).toHaveLength(1);
  });
});

test("ten pools are created, changed and deleted at once in a cluster that is not up yet: nothing is busy", async () => {
  const { body: cluster } = await createOnce(clusters, { name: "Parallel", ...PLAN });
  const path = `${clusters}/${cluster.id}/nodepools`;
  const names = Array.from({ length: 10 }, (_, index) => `pool ${index}`);
  const created = await Promise.all(
    names.map((name) => api.request("POST", path, { body: { ...POOL, name } })),
  );
  expect(count(created)).toEqual({ 202: 10 });
  const at = (response: TestResponse) => `${path}/${response.body.id}`;
  const changed = await Promise.all(
    created.map((response) => api.request("PUT", at(response), { body: { min_nodes: 0, desired_nodes: 0 } })),
  );
  expect(changed.map(({ status, body }) => [status, body.desired_nodes])).toEqual(names.map(() => [200, 0]));
  expect(count(await Promise.all(created.map((response) => api.request("DELETE", at(response)))))).toEqual({
    202: 10,
  });
});

test("what is empty is shown as it was sent: neither null nor something else", async () => {
  const body = { name: "Empty", ...PLAN, authorized_cidrs: [] };
  const { body: cluster } = await createOnce(clusters, body);
  const path = `${clusters}/${cluster.id}`;
  expect((await api.request("GET", `${path}/network`)).body.authorized_cidrs).toEqual([]);
  const pool = { ...POOL, name: "empty", node_labels: {}, node_taints: [] };
  const created = await createOnce(`${path}/nodepools`, pool);
  expect(created.body).toMatchObject({ node_labels: {}, node_taints: [] });
  const read = await api.request("GET", `${path}/nodepools/${created.body.id}`);
  expect(read.body).toEqual(created.body);
});

describe("a delete while the create is under way", () => {
  test("leaves nothing behind, whichever of them is first", async () => {
    const body = { name: "Regretted", ...PLAN, node_pools: [POOL, { ...POOL, name: "more" }] };
    let answered: TestResponse | undefined;
    const creating = createOnce(clusters, body).then((response) => {
      answered = response;
      return response;
    });
    let id: string | undefined;
    await expect
      .poll(
        async () => {
          const list = await api.request("GET", `${clusters}?name=Regretted`);
          id = list.body.items[0]?.id;
          return id ?? answered;
        },
        { interval: 5 },
      )
      .toBeDefined();
    const [deleted, created] = await Promise.all([api.request("DELETE", `${clusters}/${id}`), creating]);
    expect([created.status, created.body.code, deleted.status]).toEqual([202, undefined, 202]);
    await expect.poll(async () => (await api.request("DELETE", `${clusters}/${id}`)).status).toBe(404);
    await expect
      .poll(async () => {
        const pools = await api.deps.kube.listAll(nodePoolKind, { namespace: `org-${orgId}` });
        return pools.filter(({ spec }) => spec.clusterName.startsWith("regretted")).length;
      })
      .toBe(0);
    expect((await createOnce(clusters, body)).status).toBe(202);
  });
});

test("none of it leaves an intent pending", async () => {
  expect(await api.deps.db.select().from(writeIntents)).toEqual([]);
});
