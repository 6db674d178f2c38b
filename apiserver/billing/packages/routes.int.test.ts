import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectl } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { VERSION_CATALOGUE_CONFIG_MAP } from "../../../shared/crd/names.ts";
import { configMapKind } from "../../../shared/kube/core-kinds.ts";
import { startTestApp } from "../../testing/app.ts";

const api = setUp(startTestApp);

/**
 * The operator of the stack reads what the API server of the stack publishes; the packages of this test are elsewhere.
 */
const platformNamespace = `packages-${randomUUID()}`;
const BY = { fieldManager: "test" };

beforeAll(async () => {
  const { kube, config } = api.deps;
  const name = VERSION_CATALOGUE_CONFIG_MAP;
  const versions = await kube.get(configMapKind, config.platformNamespace, name);
  await kubectl(["create", "namespace", platformNamespace]);
  const copy = { metadata: { name, namespace: platformNamespace }, data: versions?.data ?? {} };
  await kube.create(configMapKind, copy, BY);
  api.deps.config = { ...config, platformNamespace };
});
afterAll(async () => {
  await kubectl(["delete", "namespace", platformNamespace, "--wait=false"]);
});

const recordOf = (slug: string) => `/api/v1/admin/plans/${slug}`;
const SCALE = {
  monthly_price_eur: 699,
  control_plane_replicas: 3,
  includes: { control_plane: 1, vcpu: 64, memory: 128, disk: 1280 },
  retired: false,
};
const setPlan = (slug: string, body: unknown, headers: Record<string, string> = {}) =>
  api.request("PUT", recordOf(slug), { as: "staff", body, headers });
const readHistory = (slug: string, query = "") =>
  api.request("GET", `${recordOf(slug)}${query}`, { as: "staff" });

test("tenants see the price and the contents of each package on offer, the smallest first", async () => {
  const { items } = (await api.request("GET", "/api/v1/plans")).body;
  expect(items[0]).toEqual({
    slug: "dev",
    monthly_price_eur: 19,
    control_plane_replicas: 1,
    includes: { control_plane: 1, vcpu: 2, memory: 4, disk: 40 },
    capabilities: null,
    unavailable_reason: null,
  });
  expect(items.map((item: { slug: string }) => item.slug).slice(0, 2)).toEqual(["dev", "starter"]);
});

test("a change holds at once, and stands in history and audit log", async () => {
  const after = { ...SCALE, monthly_price_eur: 701.5, includes: { ...SCALE.includes, vcpu: 66 } };
  const set = await setPlan("scale", after);
  expect(set).toMatchObject({
    status: 200,
    body: { slug: "scale", ...after, changed_by: { kind: "staff" } },
  });
  const { body, headers } = await readHistory("scale");
  expect(headers.get("etag")).toBe(set.headers.get("etag"));
  expect(body.current).toEqual(body.items[0]);
  expect(body.items).toMatchObject([after, SCALE]);
  const audit = await api.request("GET", "/api/v1/admin/audit-log?action=plan.update", { as: "staff" });
  expect(audit.body.items.at(-1)).toMatchObject({
    before: SCALE,
    after,
    target: { kind: "plan", id: "scale" },
  });
  const shown = (await api.request("GET", "/api/v1/plans")).body.items.at(-1);
  expect(shown).toMatchObject({ slug: "scale", monthly_price_eur: 701.5 });
});

test("of two changes of the same version one is refused, and the history is read page by page", async () => {
  const etag = (await readHistory("dev")).headers.get("etag") ?? "";
  const dev = (await readHistory("dev")).body.current;
  const body = {
    monthly_price_eur: dev.monthly_price_eur,
    control_plane_replicas: 1,
    includes: dev.includes,
    retired: false,
  };
  expect((await setPlan("dev", body, { "if-match": etag })).status).toBe(200);
  expect((await setPlan("dev", body, { "if-match": etag })).status).toBe(412);
  const conditional = await api.request("GET", recordOf("dev"), {
    as: "staff",
    headers: { "if-none-match": (await readHistory("dev")).headers.get("etag") ?? "" },
  });
  expect(conditional.status).toBe(304);
  const first = (await readHistory("dev", "?limit=1")).body;
  const second = (await readHistory("dev", `?limit=1&cursor=${first.next_cursor}`)).body;
  expect([...first.items, ...second.items]).toEqual((await readHistory("dev")).body.items);
});

test("an unknown package is not found, and no request creates it", async () => {
  expect((await readHistory("gold")).status).toBe(404);
  expect((await setPlan("gold", SCALE)).status).toBe(404);
});

test.each<[string, object, string, string]>([
  ["no price", { monthly_price_eur: undefined }, "monthly_price_eur", "required"],
  ["a price below 0", { monthly_price_eur: -1 }, "monthly_price_eur", "out_of_range"],
  ["NaN as text", { monthly_price_eur: "NaN" }, "monthly_price_eur", "invalid_type"],
  ["two replicas", { control_plane_replicas: 2 }, "control_plane_replicas", "invalid_enum"],
  ["half a vCPU", { includes: { ...SCALE.includes, vcpu: 0.5 } }, "includes.vcpu", "invalid_type"],
  [
    "two control planes",
    { includes: { ...SCALE.includes, control_plane: 2 } },
    "includes.control_plane",
    "out_of_range",
  ],
  ["no contents", { includes: {} }, "includes.control_plane", "required"],
  ["no word on retirement", { retired: undefined }, "retired", "required"],
  ["another slug", { slug: "gold" }, "slug", "unknown_field"],
])("a package with %s is refused, and the field is named", async (_what, change, field, code) => {
  const before = (await readHistory("growth")).body;
  const { status, body } = await setPlan("growth", { ...SCALE, ...change });
  expect([
    status,
    body.error.details.map((one: { field: string; code: string }) => [one.field, one.code])[0],
  ]).toEqual([422, [field, code]]);
  expect((await readHistory("growth")).body).toEqual(before);
});

test("a retired package is not on offer: no cluster is created with it, and existing ones keep it", async () => {
  const organization = `/api/v1/organizations/${await api.createOrganization()}`;
  const create = (name: string, plan?: string, query = "") =>
    api.request("POST", `${organization}/clusters${query}`, {
      body: { name, k8s_version: "1.34", plan },
    });
  const kept = await create("kept", "growth");
  expect([kept.status, kept.body.plan]).toEqual([202, "growth"]);
  const { current } = (await readHistory("growth")).body;
  const { monthly_price_eur, control_plane_replicas, includes } = current;
  const terms = { monthly_price_eur, control_plane_replicas, includes };
  expect((await setPlan("growth", { ...terms, retired: true })).status).toBe(200);
  try {
    for (const query of ["", "?dry_run=true"]) {
      const { status, body } = await create("late", "growth", query);
      expect([status, body.error.details[0]]).toMatchObject([422, { field: "plan", code: "invalid_enum" }]);
      expect(body.error.details[0].message).toContain("starter");
    }
    const slugs = (await api.request("GET", "/api/v1/plans")).body.items.map(
      (one: { slug: string }) => one.slug,
    );
    expect(slugs).not.toContain("growth");
    const { body } = await api.request("GET", `${organization}/clusters/${kept.body.id}`);
    expect(body.plan).toBe("growth");
  } finally {
    expect((await setPlan("growth", { ...terms, retired: false })).status).toBe(200);
  }
  expect((await create("late", "growth")).status).toBe(202);
});
