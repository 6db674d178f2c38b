import { and, eq } from "drizzle-orm";
import { afterAll, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { findCondition } from "../../../shared/controller/conditions.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { ANNOTATION_UPGRADE_FORCE } from "../../../shared/crd/names.ts";
import type { UpgradeCheck } from "../../../shared/tenant/upgrade/upgrade-check.ts";
import { auditLog } from "../../audit/table.ts";
import { asAuthorized } from "../../http/contract/caller.ts";
import { requireCluster } from "../../resources/write/index.ts";
import { setUpTestClusters } from "../../testing/service.ts";
import { author } from "../create/testing.ts";
import type { CheckedUpgrade, UpgradeChecks } from "../upgrade-decision.ts";
import { changeCluster } from "../write.ts";

const api = setUpTestClusters();
afterAll(async () => {
  const { body } = await api.request("GET", api.clusters);
  for (const { id } of body.items) await api.request("DELETE", `${api.clusters}/${id}`);
});

const FORCE = { reason: "the budget is of a test" };
const BLOCKING: UpgradeCheck = {
  check: "pods_not_evictable",
  severity: "blocking",
  object: { kind: "PodDisruptionBudget", namespace: "shop", name: "web" },
  message: "It allows no eviction.",
  fix: "Run more replicas.",
};

/** A running cluster that enforces its checks, of which no API server can be read. */
async function createEnforcing(name: string, wish: object = {}) {
  const body = { name, k8s_version: "1.34", upgrade_checks: "enforce", ...wish };
  const created = await api.request("POST", api.clusters, { body });
  expect([created.status, created.body.upgrade_checks]).toEqual([202, "enforce"]);
  const path = `${api.clusters}/${created.body.id}`;
  const read = async () => {
    const objects = await api.deps.kube.listAll(clusterKind, { namespace: `org-${api.orgId}` });
    const object = objects.find(({ spec }) => spec.displayName === name);
    if (object === undefined) throw new Error("there is no such cluster");
    return object;
  };
  await waitFor("the cluster to run", async () => {
    const { status } = await read();
    return status?.phase === "Ready" && status.version;
  });
  return { id: created.body.id as string, path, read };
}

/** A cluster without machines has these, or why they could not be read in time. */
const NOTHING_FOUND = expect.toSatisfy((checks: UpgradeChecks) => "unknown" in checks || checks.length === 0);

test("of an enforcing cluster what blocks is refused with its objects, and a force is written, audited and carried out", async () => {
  const { id, path, read } = await createEnforcing("Enforcing");
  const put = (body: object, query = "") => api.request("PUT", `${path}${query}`, { body });
  for (const [body, fault] of [
    [{ force: FORCE }, "force/not_incremental"],
    [{ name: "Other", force: FORCE }, "force/not_incremental"],
    [{ upgrade_checks: "warn", force: FORCE }, "force/not_incremental"],
    [{ k8s_version: "1.34", force: FORCE }, "force/not_incremental"],
    [{ k8s_version: "1.35", force: {} }, "force.reason/required"],
    [{ k8s_version: "1.35", force: { reason: " " } }, "force.reason/invalid_format"],
    [{ k8s_version: "1.35", force: { reason: "a\nb" } }, "force.reason/invalid_format"],
    [{ k8s_version: "1.35", force: { reason: "x".repeat(257) } }, "force.reason/too_long"],
    [{ k8s_version: "1.35", force: true }, "force/invalid_type"],
    [{ upgrade_checks: "maybe" }, "upgrade_checks/invalid_enum"],
  ] as const) {
    for (const query of ["", "?dry_run=true"]) {
      const refused = await put(body, query);
      expect([body, refused.status]).toEqual([body, 422]);
      expect(refused.body.error.message.startsWith(fault)).toBe(true);
    }
  }
  const known = await requireCluster(api.deps.db, api.orgId, id);
  const upgrade: CheckedUpgrade = {
    field: "target_version",
    target: "1.35",
    force: undefined,
    version: "1.35.1",
    checks: [BLOCKING],
  };
  const change = (dryRun: boolean) =>
    changeCluster(api.deps, asAuthorized(author), known, {
      action: "cluster.upgrade",
      preconditions: undefined,
      dryRun,
      merge: () => ({ outcome: "patch", patch: { version: "1.35.1" } }),
      upgrade,
    });
  await expect(change(false)).rejects.toMatchObject({
    code: "upgrade_blocked",
    message: expect.stringContaining("PodDisruptionBudget shop/web"),
    details: [{ field: "target_version", code: "upgrade_blocked" }],
  });
  expect((await change(true)).effects?.warnings).toEqual([
    expect.objectContaining({ field: "target_version", code: "upgrade_blocked" }),
  ]);
  const unchanged = await read();
  expect(unchanged.spec.version).toBe("1.34.2");
  expect(unchanged.metadata.annotations).not.toHaveProperty(ANNOTATION_UPGRADE_FORCE);

  const forced = await put({ k8s_version: "1.35", force: FORCE });
  expect([forced.status, forced.body.warnings]).toEqual([200, NOTHING_FOUND]);
  const { spec, metadata } = await read();
  expect(spec).toMatchObject({ version: "1.35.1", upgradeChecks: "Enforce" });
  expect(metadata.annotations?.[ANNOTATION_UPGRADE_FORCE]).toBe(`1.35.1 ${FORCE.reason}`);
  const [row] = await api.deps.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.targetId, id), eq(auditLog.action, "cluster.update")));
  expect(row).toMatchObject({ after: { k8s_version: "1.35.1", force: FORCE } });
  await waitFor("the upgrade to begin", async () => (await read()).status?.targetVersion === "1.35.1");
});

test("by kubectl an upgrade of an enforcing cluster begins when nothing is found that blocks it", async () => {
  const { read } = await createEnforcing("Unblocked");
  const { namespace = "", name } = (await read()).metadata;
  const patch = { spec: { version: "1.35" } };
  await api.deps.kube.mergePatch(clusterKind, namespace, name, patch, { fieldManager: "kubectl" });
  await waitFor("the upgrade to begin", async () => (await read()).status?.targetVersion === "1.35.1");
  expect(findCondition((await read()).status?.conditions, "UpgradeBlocked")).toBeUndefined();
});

test("an upgrade that would bring a class without what the cluster uses is refused, dry runs included, and nothing is written", async () => {
  const { id, read } = await createEnforcing("Restricted", { authorized_cidrs: ["203.0.113.0/24"] });
  const known = await requireCluster(api.deps.db, api.orgId, id);
  const classes = { default: { class: "another", authorizedCIDRs: { no: "It has none." } } };
  const upgrade = (dryRun: boolean) =>
    changeCluster(api.deps, asAuthorized(author), known, {
      action: "cluster.upgrade",
      preconditions: undefined,
      dryRun,
      merge: () => ({ outcome: "patch", patch: { version: "1.35.1" } }),
      upgrade: { field: "target_version", target: "1.35", force: FORCE, version: "1.35.1", checks: [] },
      classes,
    });
  for (const dryRun of [true, false])
    await expect(upgrade(dryRun)).rejects.toMatchObject({
      code: "validation_failed",
      details: [{ field: "target_version", code: "unsupported" }],
    });
  expect((await read()).spec.version).toBe("1.34.2");
});
