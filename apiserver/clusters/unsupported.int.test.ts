import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectl, waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import {
  CAPABILITIES_CONFIG_MAP,
  CAPABILITIES_KEY,
  VERSION_CATALOGUE_CONFIG_MAP,
} from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { PlanCapabilities } from "../../shared/crd/published-config.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { findUnavailablePlan, requireOffered } from "../billing/index.ts";
import { findCluster, findNodePool } from "../resources/project/index.ts";
import { startTestApp } from "../testing/app.ts";

const api = setUp(startTestApp);
let orgId: string;
let clusters: string;
let published: Record<string, PlanCapabilities>;

/** What is published here is not what the operator of the stack has. */
const platformNamespace = `capabilities-${randomUUID()}`;
const BY = { fieldManager: "test" };
const VERSION = { k8s_version: "1.34" };
const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 0 };
const LABELS = { tier: "web" };
const TAINTS = [{ key: "gpu", effect: "NoSchedule" }];
const CIDRS = ["203.0.113.0/24"];
const RATE_LIMIT = { max_connections_per_second: 5, burst: 10 };
const no = (what: string) => ({ no: `The class does not support ${what}.` });
const nothing: PlanCapabilities = {
  class: "plain",
  authorizedCIDRs: no("authorized CIDRs"),
  apiServerRateLimit: no("a rate limit"),
  privateEndpoint: no("a private endpoint"),
  nodeLabels: no("labels"),
  nodeTaints: no("taints"),
  zones: no("zones"),
};
const dev: PlanCapabilities = {
  class: "rich",
  authorizedCIDRs: true,
  maxAuthorizedCIDRs: 1,
  zones: ["a", "b"],
};

beforeAll(async () => {
  const { kube, config } = api.deps;
  const readStack = (name: string) => kube.get(configMapKind, config.platformNamespace, name);
  const catalogue = await readStack(VERSION_CATALOGUE_CONFIG_MAP);
  const ofStack = JSON.parse((await readStack(CAPABILITIES_CONFIG_MAP))?.data?.[CAPABILITIES_KEY] ?? "{}");
  await kubectl(["create", "namespace", platformNamespace]);
  published = {
    default: nothing,
    dev,
    starter: { class: no("the plan starter") },
    // The operator reports the class of each cluster.
    scale: { ...nothing, class: ofStack.scale.class },
  };
  const publish = (name: string, data: Record<string, string>) =>
    kube.create(configMapKind, { metadata: { name, namespace: platformNamespace }, data }, BY);
  await publish(VERSION_CATALOGUE_CONFIG_MAP, catalogue?.data ?? {});
  await publish(CAPABILITIES_CONFIG_MAP, { [CAPABILITIES_KEY]: JSON.stringify(published) });
  api.deps.config = { ...config, platformNamespace };
  orgId = await api.createOrganization();
  clusters = `/api/v1/organizations/${orgId}/clusters`;
});
afterAll(async () => {
  await kubectl(["delete", "namespace", platformNamespace, "--wait=false"]);
  const { body } = await api.request("GET", clusters);
  for (const { id } of body.items) await api.request("DELETE", `${clusters}/${id}`);
});

/** With a plan whose clusters the stack refuses, so that no machine is created. */
async function create(body: object): Promise<string> {
  const { body: cluster } = await api.request("POST", clusters, { body: { ...VERSION, ...body } });
  return `${clusters}/${cluster.id}`;
}

test.each<[string, object, string]>([
  ["authorized CIDRs", { authorized_cidrs: CIDRS }, "authorized_cidrs"],
  [
    "labels",
    { node_pools: [POOL, { ...POOL, name: "b", node_labels: LABELS }] },
    "node_pools[1].node_labels",
  ],
  ["taints", { node_pools: [{ ...POOL, node_taints: TAINTS }] }, "node_pools[0].node_taints"],
  ["a plan", { plan: "starter" }, "plan"],
])(
  "a create with %s that the platform does not have is refused, dry runs included",
  async (_, wish, field) => {
    const body = { name: "refused", ...VERSION, ...wish };
    for (const path of [clusters, `${clusters}?dry_run=true`]) {
      const refused = await api.request("POST", path, { body });
      expect(refused).toMatchObject({
        status: 422,
        body: { error: { code: "validation_failed", details: [{ field, code: "unsupported" }] } },
      });
      expect(refused.body.error.details[0].message).toContain("The class does not support");
    }
  },
);

test("a create with more authorized CIDRs than the platform takes is refused with their number, dry runs included", async () => {
  const authorized_cidrs = [...CIDRS, "198.51.100.0/24"];
  const body = { name: "refused", ...VERSION, plan: "dev", authorized_cidrs };
  for (const path of [clusters, `${clusters}?dry_run=true`]) {
    const refused = await api.request("POST", path, { body });
    const message = expect.stringContaining("1 or fewer different blocks, and has 2");
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { details: [{ field: "authorized_cidrs", code: "unsupported", message }] } },
    });
  }
});

test.each<[string, object]>([
  ["of the plan of another class", { plan: "dev", authorized_cidrs: CIDRS }],
  ["that is not known", { plan: "growth", authorized_cidrs: CIDRS }],
  [
    "that is not needed: an empty list, no labels",
    { authorized_cidrs: [], node_pools: [{ ...POOL, node_labels: {} }] },
  ],
  [
    "that every installation has",
    { node_pools: [{ ...POOL, node_labels: { "node-role.kubernetes.io/web": "" } }] },
  ],
])("a create that asks for something %s is accepted", async (_, wish) => {
  const body = { name: "accepted", ...VERSION, ...wish };
  expect(await api.request("POST", `${clusters}?dry_run=true`, { body })).toMatchObject({
    status: 200,
    body: { effects: { warnings: [] } },
  });
});

test("a plan that is retired or without a class is refused with those that can be chosen, and is none of them", async () => {
  const growth = "/api/v1/admin/plans/growth";
  const { current } = (await api.request("GET", growth, { as: "staff" })).body;
  const { monthly_price_eur, control_plane_replicas, includes } = current;
  const retire = async (retired: boolean) => {
    const body = { monthly_price_eur, control_plane_replicas, includes, retired };
    expect((await api.request("PUT", growth, { as: "staff", body })).status).toBe(200);
  };
  const refusalOf = async (plan: string) => {
    const body = { name: "refused", ...VERSION, plan };
    const refused = await api.request("POST", clusters, { body });
    return [refused.status, refused.body.error.details[0].message];
  };
  const starter = (choice: string) =>
    `is not available; choose ${choice}, or ask the platform's operator ("The class does not support the plan starter.")`;
  expect(await refusalOf("starter")).toEqual([422, starter("dev, growth, scale or none")]);
  await retire(true);
  try {
    expect(await refusalOf("growth")).toEqual([422, "must be dev, scale or left out"]);
    expect(await refusalOf("starter")).toEqual([422, starter("dev, scale or none")]);
  } finally {
    await retire(false);
  }
});

test.each<[string, string[], string, string]>([
  ["the default", ["default"], "choose none, or ", "must be left out"],
  ["all but the default", ["dev", "growth"], "choose dev or growth, or ", "must be dev or growth"],
  ["one", ["dev"], "choose dev, or ", "must be dev"],
  ["none", [], "", "must be another plan, of which none is available; ask the platform's operator"],
])("what can be chosen where %s has a class", async (_, available, unavailable, unknown) => {
  const slugs = ["default", "dev", "starter", "growth", "scale"];
  const classes = Object.fromEntries(
    slugs.map((slug) => [slug, { class: available.includes(slug) ? "plain" : no("it") }]),
  );
  const { db } = api.deps;
  const reason = '("The class does not support it.")';
  expect(await findUnavailablePlan(db, "scale", classes)).toEqual([
    {
      field: "plan",
      code: "unsupported",
      message: `is not available; ${unavailable}ask the platform's operator ${reason}`,
    },
  ]);
  await expect(requireOffered(db, "retired", classes)).rejects.toMatchObject({
    details: [{ field: "plan", code: "invalid_enum", message: unknown }],
  });
});

test("a private endpoint is always accepted, and a dry run warns of it", async () => {
  const body = { name: "private", ...VERSION, plan: "scale", public_endpoint: false };
  const dry = await api.request("POST", `${clusters}?dry_run=true`, { body });
  expect(dry).toMatchObject({
    status: 200,
    body: { effects: { warnings: [{ field: "public_endpoint", code: "unsupported" }] } },
  });
  expect((await api.request("POST", clusters, { body })).status).toBe(202);
});

test("the plans show what their clusters can have, and one without a class says why it is not offered", async () => {
  const { items } = (await api.request("GET", "/api/v1/plans")).body;
  const shown = Object.fromEntries(items.map((item: { slug: string }) => [item.slug, item]));
  expect(shown.dev).toMatchObject({
    capabilities: {
      authorized_cidrs: { supported: true, reason: null },
      max_authorized_cidrs: 1,
      api_server_rate_limit: null,
      zones: ["a", "b"],
    },
    unavailable_reason: null,
  });
  expect(shown.starter).toMatchObject({
    capabilities: null,
    unavailable_reason: "The class does not support the plan starter.",
  });
  expect(shown.growth).toMatchObject({ capabilities: null, unavailable_reason: null });
});

test("a change to what the class of the cluster does not have is refused, and everything else goes on", async () => {
  const path = await create({ name: "plain", plan: "scale", node_pools: [POOL] });
  const { items } = (await api.request("GET", `${path}/nodepools`)).body;
  const pool = `${path}/nodepools/${items[0].id}`;
  const both = { authorized_cidrs: CIDRS, api_server_rate_limit: RATE_LIMIT };
  const refusals: [string, string, object, string[]][] = [
    ["PUT", `${path}/network`, both, ["authorized_cidrs", "api_server_rate_limit"]],
    ["POST", `${path}/nodepools`, { ...POOL, name: "b", node_taints: TAINTS }, ["node_taints"]],
    ["PUT", pool, { node_labels: LABELS, desired_nodes: 0 }, ["node_labels"]],
  ];
  for (const [method, url, body, fields] of refusals) {
    const refused = await api.request(method, url, { body });
    expect(refused).toMatchObject({
      status: 422,
      body: { error: { details: fields.map((field) => ({ field, code: "unsupported" })) } },
    });
  }
  expect((await api.request("PUT", pool, { body: { desired_nodes: 1, max_nodes: 1 } })).status).toBe(200);
  expect((await api.request("PUT", `${path}/network`, { body: { authorized_cidrs: [] } })).status).toBe(200);
});

test("of what a cluster has already and its class does not, a part can be removed and nothing added", async () => {
  const path = await create({ name: "former", plan: "scale", node_pools: [POOL] });
  const clusterId = path.slice(clusters.length + 1);
  const poolId = (await api.request("GET", `${path}/nodepools`)).body.items[0].id;
  const { db, kube } = api.deps;
  const cluster = await findCluster(db, orgId, clusterId);
  const pool = await findNodePool(db, orgId, clusterId, poolId);
  const network = { spec: { network: { authorizedCIDRs: [...CIDRS, "198.51.100.0/24"] } } };
  await kube.mergePatch(clusterKind, cluster?.namespace, cluster?.name ?? "", network, BY);
  const labels = { spec: { nodeLabels: { ...LABELS, zone: "a" } } };
  await kube.mergePatch(nodePoolKind, pool?.namespace, pool?.name ?? "", labels, BY);
  const put = async (url: string, body: object) => (await api.request("PUT", url, { body })).status;
  const poolPath = `${path}/nodepools/${poolId}`;
  expect([
    await put(poolPath, { node_labels: { ...LABELS, zone: "a", team: "blue" } }),
    await put(poolPath, { node_labels: { tier: "db", zone: "a" } }),
    await put(poolPath, { node_labels: LABELS }),
    await put(`${path}/network`, { authorized_cidrs: [...CIDRS, "192.0.2.0/24"] }),
    await put(`${path}/network`, { authorized_cidrs: CIDRS }),
  ]).toEqual([422, 422, 200, 422, 200]);
});

test("a repeated create gets its first response, although the platform has ceased to offer what it asks for", async () => {
  const publish = async (scale: Partial<PlanCapabilities>) => {
    const data = {
      [CAPABILITIES_KEY]: JSON.stringify({ ...published, scale: { ...published.scale, ...scale } }),
    };
    await api.deps.kube.mergePatch(configMapKind, platformNamespace, CAPABILITIES_CONFIG_MAP, { data }, BY);
    const afterwards = new Date(api.deps.now().getTime() + 60_000);
    api.deps.now = () => afterwards;
  };
  const pool = { ...POOL, name: "early", node_labels: LABELS };
  const body = { name: "early", ...VERSION, plan: "scale", node_pools: [pool] };
  const post = async (path: string, sent: object, key: string) =>
    api.request("POST", path, { body: sent, headers: { "idempotency-key": key } });
  // Clusters and pools are asked for separately, and each knows what was published at its next request.
  const awaitDryRun = (path: string, sent: object, status: number) =>
    waitFor(`a dry run of ${path} to be ${status}`, async () => {
      const response = await api.request("POST", `${path}?dry_run=true`, { body: sent });
      return response.status === status;
    });

  await publish({ nodeLabels: true });
  await awaitDryRun(clusters, body, 200);
  const first = await post(clusters, body, "first");
  const pools = `${clusters}/${first.body.id}/nodepools`;
  const second = { ...pool, name: "second" };
  await awaitDryRun(pools, second, 200);
  const firstPool = await post(pools, second, "first");
  expect([first.status, firstPool.status]).toEqual([202, 202]);
  await publish({});
  for (const [path, sent, known] of [
    [clusters, body, first],
    [pools, second, firstPool],
  ] as const) {
    await awaitDryRun(path, { ...sent, name: "late" }, 422);
    expect((await post(path, sent, "first")).body).toEqual(known.body);
    expect((await post(path, { ...sent, name: "late" }, "late")).status).toBe(422);
  }
  // A refused body leaves its key to a corrected one.
  expect((await post(pools, { ...POOL, name: "late" }, "late")).status).toBe(202);
});
