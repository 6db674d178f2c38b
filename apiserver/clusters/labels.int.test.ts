import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { auditLog } from "../audit/table.ts";
import { setUpTestClusters } from "../testing/service.ts";

const api = setUpTestClusters();

const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

/** Created with a plan whose class takes no cluster. */
async function create(name: string, labels?: Record<string, string>, pools: object[] = []) {
  const body = { name, k8s_version: "1.34", plan: "scale", labels, node_pools: pools };
  const { status, body: record } = await api.request("POST", api.clusters, { body });
  expect(status).toBe(202);
  return record;
}

async function list(path: string, selector: string): Promise<string[]> {
  const { status, body } = await api.request("GET", `${path}?labels=${encodeURIComponent(selector)}`);
  expect(status).toBe(200);
  return body.items.map(({ name }: { name: string }) => name);
}

test("clusters and pools are created with labels, and listed by them, page by page", async () => {
  const [web, shop, bare] = [
    await create("Web", { team: "web", stage: "test" }, [
      { ...POOL, name: "a", labels: { team: "web" } },
      { ...POOL, name: "b" },
    ]),
    await create("Shop", { team: "shop", stage: "production" }),
    await create("Bare"),
  ];
  expect([web.labels, shop.labels, bare.labels]).toEqual([
    { team: "web", stage: "test" },
    { team: "shop", stage: "production" },
    {},
  ]);
  expect(await list(api.clusters, "team in (web,shop)")).toEqual(["Web", "Shop"]);
  expect(await list(api.clusters, "team!=web")).toEqual(["Shop", "Bare"]);
  expect(await list(api.clusters, "!team")).toEqual(["Bare"]);
  expect(await list(api.clusters, "")).toEqual(["Web", "Shop", "Bare"]);
  expect(await list(`${api.clusters}/${web.id}/nodepools`, "team=web")).toEqual(["a"]);
  expect(await list(`${api.clusters}/${web.id}/nodepools`, "!team")).toEqual(["b"]);
  const query = "labels=team&limit=1";
  const { body: page } = await api.request("GET", `${api.clusters}?${query}`);
  const { body: next } = await api.request("GET", `${api.clusters}?${query}&cursor=${page.next_cursor}`);
  expect([page, next].map(({ items }) => items[0].name)).toEqual(["Web", "Shop"]);
  expect(next.next_cursor).toBeNull();
});

test("PUT replaces the labels, a second time without a change, and its audit row has both", async () => {
  const { id } = await create("Relabelled", { team: "web", stage: "test" });
  const path = `${api.clusters}/${id}`;
  const put = (labels: object) => api.request("PUT", path, { body: { labels } });
  const changed = await put({ team: "shop" });
  expect([changed.status, changed.body.labels, changed.body.generation]).toEqual([200, { team: "shop" }, 2]);
  expect((await put({ team: "shop" })).body.generation).toBe(2);
  expect((await api.request("PUT", path, { body: { name: "Renamed" } })).body.labels).toEqual({
    team: "shop",
  });
  expect((await put({})).body.labels).toEqual({});
  const isUpdate = and(eq(auditLog.targetId, id), eq(auditLog.action, "cluster.update"));
  const [row] = await api.deps.db.select().from(auditLog).where(isUpdate).orderBy(auditLog.id);
  expect(row).toMatchObject({
    before: { labels: { team: "web", stage: "test" } },
    after: { labels: { team: "shop" } },
  });
});

test("PUT of a pool replaces its labels, and no node is replaced", async () => {
  const { id } = await create("Pooled", {}, [{ ...POOL, labels: { team: "web", stage: "test" } }]);
  const pools = `${api.clusters}/${id}/nodepools`;
  const [pool] = (await api.request("GET", pools)).body.items;
  const body = { labels: { team: "shop" } };
  const dry = await api.request("PUT", `${pools}/${pool.id}?dry_run=true`, { body });
  expect([dry.status, dry.body.effects.nodes_replaced]).toEqual([200, 0]);
  const { body: changed } = await api.request("PUT", `${pools}/${pool.id}`, { body });
  expect([changed.labels, changed.generation]).toEqual([{ team: "shop" }, 2]);
});

test.each<[string, unknown, string]>([
  ["a reserved key", { "x.kubernetes.io/y": "" }, "invalid_format"],
  ["a key that is none", { "a b": "" }, "invalid_format"],
  ["a value that is none", { a: "b c" }, "invalid_format"],
  ["33 labels", Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`k${index}`, ""])), "too_many"],
  ["markup", { a: "<script>" }, "invalid_format"],
])("%s is refused", async (_, labels, code) => {
  const body = { name: "Refused", k8s_version: "1.34", plan: "scale", labels };
  const { status, body: answer } = await api.request("POST", api.clusters, { body });
  expect(status).toBe(422);
  expect(answer.error.details[0]).toMatchObject({ code });
  expect(answer.error.details[0].field).toMatch(/^labels/);
});

test("a selector that is none is 400, and says what was found", async () => {
  const { status, body } = await api.request("GET", `${api.clusters}?labels=team%20in%20web`);
  expect([status, body.error.details[0]]).toMatchObject([
    400,
    { field: "labels", message: 'must have "(" instead of "web"' },
  ]);
  const long = "k,".repeat(2048);
  expect((await api.request("GET", `${api.clusters}?labels=${long}x`)).status).toBe(400);
});
