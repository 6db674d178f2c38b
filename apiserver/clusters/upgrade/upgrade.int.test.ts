import { and, eq } from "drizzle-orm";
import { afterAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { auditLog } from "../../audit/table.ts";
import { setUpTestClusters } from "../../testing/service.ts";
import type { UpgradeChecks } from "../upgrade-decision.ts";

const api = setUpTestClusters();
afterAll(async () => {
  const { body } = await api.request("GET", api.clusters);
  for (const { id } of body.items) await api.request("DELETE", `${api.clusters}/${id}`);
});

async function readObject() {
  const [object] = await api.deps.kube.listAll(clusterKind, { namespace: `org-${api.orgId}` });
  return object;
}

describe("the catalogues", () => {
  test("of Kubernetes versions is complete, the newest first", async () => {
    const { status, body } = await api.request("GET", "/api/v1/kubernetes-versions");
    expect(status).toBe(200);
    const versions = body.items.map(({ version }: { version: string }) => version);
    expect(versions).toEqual(["1.36.0", "1.35.1", "1.34.2", "1.33.6"]);
    expect(body.items[0]).toEqual({
      version: "1.36.0",
      status: "supported",
      deprecated_at: null,
      end_of_life_at: null,
    });
    expect(body.next_cursor).toBeNull();
  });

  test("of plans holds what a create takes", async () => {
    const { body } = await api.request("GET", "/api/v1/plans", { as: "bob" });
    const slugs = body.items.map((item: { slug: string }) => item.slug);
    expect(slugs).toEqual(["dev", "starter", "growth", "scale"]);
    expect(body.next_cursor).toBeNull();
  });
});

describe("upgrading a cluster", () => {
  test("waits for it to run, goes one step, and is 409 while it is under way, when all else can be changed", async () => {
    const { body: created } = await api.request("POST", api.clusters, {
      body: { name: "Upgraded", k8s_version: "1.34" },
    });
    const path = `${api.clusters}/${created.id}`;
    const upgrade = (target: string) =>
      api.request("POST", `${path}/upgrade`, { body: { target_version: target } });
    const early = await upgrade("1.35");
    expect([early.status, early.body.error.code]).toEqual([409, "cluster_not_running"]);
    expect(Number(early.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await api.request("GET", `${path}/upgrades`)).body).toEqual({ items: [], next_cursor: null });

    await waitFor("the cluster to run", async () => {
      const status = (await readObject())?.status;
      return status?.phase === "Ready" && status.version;
    });
    for (const [target, fault] of [
      ["1.34.2", "target_version/not_incremental"],
      ["1.36", "target_version/not_incremental"],
      ["1.33", "target_version/not_incremental"],
      ["1.35.7", "target_version/invalid_enum"],
      ["latest", "target_version/invalid_format"],
    ] as const) {
      const refused = await upgrade(target);
      expect([target, refused.status]).toEqual([target, 422]);
      expect(refused.body.error.message.startsWith(fault)).toBe(true);
    }

    const dry = await api.request("POST", `${path}/upgrade?dry_run=true`, {
      body: { target_version: "1.35" },
    });
    const putDry = (body: object) => api.request("PUT", `${path}?dry_run=true`, { body });
    const dryPut = await putDry({ k8s_version: "1.35" });
    expect((await putDry({ k8s_version: "1.34.2", name: "Other" })).body.effects).not.toHaveProperty(
      "checks",
    );
    expect((await readObject())?.spec.version).toBe("1.34.2");

    const accepted = await upgrade("1.35");
    expect([dry.status, dryPut.status]).toEqual([200, 200]);
    const stable = { updated_at: "", conditions: [], status_message: "" };
    const { effects, cluster, ...workers } = dry.body;
    const { warnings, ...acceptedBody } = accepted.body;
    // A cluster without machines has these, or why they could not be read in time.
    const nothing = expect.toSatisfy((found: UpgradeChecks) => "unknown" in found || found.length === 0);
    expect(warnings).toEqual(nothing);
    expect({ ...workers, cluster: { ...cluster, ...stable } }).toEqual({
      ...acceptedBody,
      cluster: { ...accepted.body.cluster, ...stable },
    });
    expect(effects.checks).toEqual(nothing);
    expect(dryPut.body).toMatchObject({ k8s_version: "1.35.1", effects: { ...effects, checks: nothing } });
    expect(effects).toMatchObject({ nodes_replaced: 0, nodes_added: 0, nodes_removed: 0 });
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get("location")).toBe(path);
    expect(accepted.body).toMatchObject({
      cluster: { id: created.id, k8s_version: "1.35.1", current_version: "1.34.2" },
      workers_total: 0,
      workers_patched: 0,
    });
    expect(accepted.body).not.toHaveProperty("workers_pending");
    // At once: another program may complete the upgrade while this one is paused.
    const again = await upgrade("1.35");
    expect((await readObject())?.spec.version).toBe("1.35.1");
    const upgrades = await api.request("GET", `${path}/upgrades`);
    expect(upgrades.body.items).toEqual([]);
    const rows = await api.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.targetId, created.id), eq(auditLog.action, "cluster.upgrade")));
    expect(rows).toHaveLength(1);

    await waitFor("the upgrade to begin", async () => {
      const { phase, version } = (await readObject())?.status ?? {};
      return phase === "Upgrading" || version === "1.35.1";
    });
    expect([again.status, again.body.error.code]).toEqual([409, "cluster_not_running"]);
    expect(again.body.error.message).toContain("upgrading");
    expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(0);
    for (const [method, at, body] of [
      ["PUT", path, { name: "Renamed" }],
      ["PUT", `${path}/network`, { authorized_cidrs: ["203.0.113.0/24"] }],
    ] as const) {
      const changed = await api.request(method, at, { body });
      expect([at, changed.status]).toEqual([at, 200]);
    }
  });
});
