import { and, eq } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { findCluster } from "../resources/project/index.ts";
import { setUpTestClusters } from "../testing/service.ts";

const api = setUpTestClusters();

const LIMIT = { max_connections_per_second: 10, burst: 20 };
let count = 0;

/** A cluster of a plan whose clusters the stack refuses, so no machine is ever created for it. */
async function create(change: Record<string, unknown> = {}) {
  count += 1;
  const body = { name: `Cluster ${count}`, k8s_version: "1.34", plan: "scale", ...change };
  const response = await api.request("POST", api.clusters, { body });
  const path = `${api.clusters}/${response.body.id}/network`;
  return {
    id: response.body.id as string,
    path,
    put: (body: unknown, headers = {}) => api.request("PUT", path, { body, headers }),
  };
}

async function readObject(clusterId: string) {
  const cluster = await findCluster(api.deps.db, api.orgId, clusterId);
  if (cluster === undefined) throw new Error("no cluster");
  const live = await api.deps.kube.get(clusterKind, cluster.namespace, cluster.name);
  if (live === undefined) throw new Error("no object");
  return live;
}

describe("reading the network policy", () => {
  test("is 200 with the defaults of a cluster that was never given one", async () => {
    const { id, path } = await create();
    const read = await api.request("GET", path);
    expect(read.status).toBe(200);
    expect(read.body).toEqual({ cluster_id: id, authorized_cidrs: [], updated_at: expect.any(String) });
  });

  test("of a cluster that does not exist is 404", async () => {
    const read = await api.request("GET", `${api.clusters}/${createId()}/network`);
    expect([read.status, read.body.error.code]).toEqual([404, "not_found"]);
  });
});

describe("setting the network policy", () => {
  test("stores exactly what was sent, and every read returns it at once", async () => {
    const { id, path, put } = await create();
    const sent = { authorized_cidrs: ["2001:DB8::/32", "203.0.113.0/24"], api_server_rate_limit: LIMIT };
    const response = await put(sent);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ cluster_id: id, ...sent, updated_at: expect.any(String) });
    const read = await api.request("GET", path);
    expect(read.body).toEqual(response.body);
    const live = await readObject(id);
    expect(live.spec.network).toEqual({
      authorizedCIDRs: ["2001:db8::/32", "203.0.113.0/24"],
      apiServerRateLimit: { maxConnectionsPerSecond: 10, burst: 20 },
    });
    const tag = read.headers.get("etag");
    expect((await api.request("GET", `${api.clusters}/${id}`)).headers.get("etag")).toBe(tag);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, id), eq(auditLog.action, "network_policy.update")));
    expect(rows).toMatchObject([{ before: { authorized_cidrs: [] }, after: sent }]);
  });

  test("replaces outright: a rate limit that is not sent is removed, an empty list opens to all", async () => {
    const { id, path, put } = await create({ authorized_cidrs: ["203.0.113.0/24"] });
    await put({ authorized_cidrs: ["203.0.113.0/24"], api_server_rate_limit: LIMIT });
    const response = await put({ authorized_cidrs: [] });
    expect(response.body).toEqual({ cluster_id: id, authorized_cidrs: [], updated_at: expect.any(String) });
    expect((await readObject(id)).spec.network).toEqual({ authorizedCIDRs: [] });
    const { body: record } = await api.request("GET", path);
    const again = await put(record);
    expect([again.status, again.body]).toEqual([200, record]);
  });

  test("accepts host bits, IPv4-mapped and repeated blocks, applies each masked and once, and answers as sent", async () => {
    const sent = ["203.0.113.9/24", "::ffff:203.0.113.0/120", "203.0.113.9/24", "2001:db8::1/32"];
    const { id, path, put } = await create({ authorized_cidrs: sent });
    expect((await readObject(id)).spec.network).toEqual({
      authorizedCIDRs: ["203.0.113.0/24", "2001:db8::/32"],
    });
    expect((await api.request("GET", path)).body.authorized_cidrs).toEqual(sent);
    const { generation } = (await readObject(id)).metadata;
    const respelled = await put({ authorized_cidrs: ["203.0.113.0/24", "2001:DB8::/32"] });
    expect([respelled.status, respelled.body.authorized_cidrs]).toEqual([
      200,
      ["203.0.113.0/24", "2001:DB8::/32"],
    ]);
    expect((await api.request("GET", path)).body).toEqual(respelled.body);
    expect((await readObject(id)).metadata.generation).toBe(generation);
  });

  test("is dated by itself: a rename of the cluster leaves its updated_at", async () => {
    const { id, path, put } = await create({ authorized_cidrs: ["203.0.113.0/24"] });
    await put({ authorized_cidrs: ["203.0.113.0/24"], api_server_rate_limit: LIMIT });
    const { body: set } = await put({ authorized_cidrs: ["203.0.113.0/24"] });
    const writers = (await readObject(id)).metadata.managedFields?.map(({ manager }) => manager);
    expect(writers).toContain("marina-apiserver-network");
    await api.request("PUT", `${api.clusters}/${id}`, { body: { name: `Renamed ${count}` } });
    expect((await api.request("GET", path)).body.updated_at).toBe(set.updated_at);
    const kept = (await readObject(id)).metadata.managedFields?.map(({ manager }) => manager);
    expect(kept).toContain("marina-apiserver-network");
  });

  test("holds to If-Match, of the cluster's own tag", async () => {
    const { path, put } = await create();
    const tag = (await api.request("GET", path)).headers.get("etag") ?? "";
    expect((await put({ authorized_cidrs: ["203.0.113.0/24"] }, { "if-match": tag })).status).toBe(200);
    const late = await put({ authorized_cidrs: [] }, { "if-match": tag });
    expect([late.status, late.body.error.code]).toEqual([412, "precondition_failed"]);
  });

  test.each<[string, Record<string, unknown>, string, string]>([
    ["a bare address", { authorized_cidrs: ["203.0.113.7"] }, "authorized_cidrs/invalid_cidr", "203.0.113.7"],
    ["no list", {}, "authorized_cidrs/required", ""],
    ["null for the list", { authorized_cidrs: null }, "authorized_cidrs/invalid_type", ""],
    [
      "null for the limit",
      { authorized_cidrs: [], api_server_rate_limit: null },
      "api_server_rate_limit/invalid_type",
      "",
    ],
    [
      "a limit without burst",
      { authorized_cidrs: [], api_server_rate_limit: { max_connections_per_second: 1 } },
      "api_server_rate_limit.burst/required",
      "",
    ],
    [
      "a limit of nothing",
      { authorized_cidrs: [], api_server_rate_limit: { max_connections_per_second: 0, burst: 1 } },
      "api_server_rate_limit.max_connections_per_second/out_of_range",
      "",
    ],
    [
      "another cluster",
      { authorized_cidrs: [], cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11" },
      "cluster_id/immutable",
      "",
    ],
  ])("with %s is 422 and changes nothing", async (_, body, fault, named) => {
    const { id, put } = await create({ authorized_cidrs: ["198.51.100.0/24"] });
    const response = await put(body);
    expect(response.status).toBe(422);
    expect(response.body.error.message.startsWith(fault)).toBe(true);
    expect(response.body.error.message).toContain(named);
    expect((await readObject(id)).metadata.generation).toBe(1);
  });

  test("of what GitOps applies is 409 and names the manager; the rest stays ours", async () => {
    const { id, put } = await create();
    const { metadata } = await readObject(id);
    await api.deps.kube.apply(
      clusterKind,
      {
        metadata: { namespace: metadata.namespace ?? "", name: metadata.name },
        spec: { network: { authorizedCIDRs: ["192.0.2.0/24"] } },
      },
      { fieldManager: "flux" },
    );
    const refused = await put({ authorized_cidrs: [] });
    expect([refused.status, refused.body.error.code]).toEqual([409, "managed_elsewhere"]);
    expect(refused.body.error.message).toContain("authorized_cidrs is managed by flux");
    const taken = await put({ authorized_cidrs: ["192.0.2.0/24"], api_server_rate_limit: LIMIT });
    expect(taken.status).toBe(200);
  });
});
