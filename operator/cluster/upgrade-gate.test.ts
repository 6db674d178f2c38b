import { describe, expect, test } from "vitest";
import { findCondition } from "../../shared/controller/conditions.ts";
import { ANNOTATION_UPGRADE_FORCE } from "../../shared/crd/names.ts";
import type { UpgradeCheck } from "../../shared/tenant/upgrade/upgrade-check.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { findTargetToCheck } from "./upgrade-gate.ts";

const check = (severity: UpgradeCheck["severity"], name = "web"): UpgradeCheck => ({
  check: severity === "blocking" ? "pods_not_evictable" : "unknown",
  severity,
  object: { kind: "PodDisruptionBudget", namespace: "shop", name },
  message: "It allows no eviction.",
  fix: "Run more replicas.",
});
const BLOCKING = [check("blocking")];
const WARNING = [check("warning")];

const ready = () => aCluster().withPools(makePool("web")).ready();
const enforced = () => ready().withSpec({ version: "1.35", upgradeChecks: "Enforce" });
const warned = () => ready().withSpec({ version: "1.35" });
const forced = (fixture: ClusterFixture, value: string) => {
  const { cluster } = fixture.observed;
  const metadata = { ...cluster.metadata, annotations: { [ANNOTATION_UPGRADE_FORCE]: value } };
  return fixture.with({ cluster: { ...cluster, metadata } });
};

/** The version that Cluster API gets, the target of the status, and what the conditions and Events say. */
function decide(fixture: ClusterFixture) {
  const { write, status, events } = fixture.plan();
  const step = write.find(({ verb, kind }) => verb === "apply" && kind === capiClusterKind);
  const applied = step?.verb === "apply" ? step.object : fixture.observed.capi?.object;
  const conditions = status?.conditions ?? fixture.observed.cluster.status?.conditions;
  return {
    sent: (applied as CapiCluster | undefined)?.spec?.topology?.version,
    target: status?.targetVersion ?? fixture.observed.cluster.status?.targetVersion,
    upgrading: findCondition(conditions, "Upgrading")?.reason,
    blocked: findCondition(conditions, "UpgradeBlocked")?.message,
    stalled: findCondition(conditions, "Stalled")?.reason,
    phase: status?.phase,
    events: [...write.flatMap(({ event }) => event ?? []), ...events].map(({ reason }) => reason),
    status,
  };
}

const BEGUN = { sent: "v1.35.1", target: "1.35.1", upgrading: "Upgrading", blocked: undefined };
const NOT_BEGUN = { sent: "v1.34.2", target: "1.34.2" };
const NAMED = expect.stringContaining(
  "blocked by 1 check: PodDisruptionBudget shop/web (pods_not_evictable)",
);

describe("an upgrade", () => {
  test.each<[string, ClusterFixture, object]>([
    ["without findings begins", warned().with({ upgradeChecks: [] }), { ...BEGUN, events: ["Upgrading"] }],
    [
      "begins with a warning where blocking checks are not enforced",
      warned().with({ upgradeChecks: BLOCKING }),
      { ...BEGUN, events: ["UpgradeWarnings", "Upgrading"] },
    ],
    [
      "begins with a warning where what is enforced finds no blocking check",
      enforced().with({ upgradeChecks: WARNING }),
      { ...BEGUN, events: ["UpgradeWarnings", "Upgrading"] },
    ],
    [
      "waits until its checks are read",
      warned().with({ upgradeChecks: undefined }),
      {
        ...NOT_BEGUN,
        upgrading: "CheckingUpgrade",
        phase: "Upgrading",
        blocked: undefined,
        stalled: undefined,
      },
    ],
    [
      "is blocked by an enforced check",
      enforced().with({ upgradeChecks: BLOCKING }),
      {
        ...NOT_BEGUN,
        upgrading: undefined,
        blocked: NAMED,
        stalled: "UpgradeBlocked",
        events: ["UpgradeBlocked"],
      },
    ],
    [
      "begins by force, whatever its checks find",
      forced(enforced().with({ upgradeChecks: BLOCKING }), "1.35.1 a test"),
      { ...BEGUN, events: ["UpgradeForced", "Upgrading"] },
    ],
    [
      "begins by force before its checks are read",
      forced(enforced().with({ upgradeChecks: undefined }), "1.35.1 a test"),
      { ...BEGUN, events: ["UpgradeForced", "Upgrading"] },
    ],
    [
      "is blocked although another one is forced",
      forced(enforced().with({ upgradeChecks: BLOCKING }), "1.34.9 a test"),
      { ...NOT_BEGUN, blocked: NAMED },
    ],
    [
      "is blocked although every patch of its minor version is forced, and says what to write",
      forced(enforced().with({ upgradeChecks: BLOCKING }), "1.35 a test"),
      {
        ...NOT_BEGUN,
        blocked: expect.stringContaining("to the full version, as it stands here, a space and the reason"),
      },
    ],
  ])("%s", (_name, fixture, expected) => {
    expect(decide(fixture)).toMatchObject(expected);
  });

  test("that is blocked stays so in a process that has read nothing yet, and is checked again after another change", () => {
    const blocked = enforced().with({ upgradeChecks: BLOCKING }).reconciled();
    const restarted = blocked.with({ upgradeChecks: undefined });
    expect(restarted.plan()).toMatchObject({ write: [], status: undefined });
    expect(decide(restarted.withSpec({ upgradeChecks: "Warn" }))).toMatchObject({
      ...NOT_BEGUN,
      blocked: undefined,
      upgrading: "CheckingUpgrade",
    });
    expect(decide(blocked.with({ upgradeChecks: [] }))).toMatchObject(BEGUN);
  });

  test("that is blocked leaves the pools to be changed, and is given up by the version that runs", () => {
    const blocked = enforced().with({ upgradeChecks: BLOCKING }).reconciled();
    const more = blocked.withPools(makePool("web"), makePool("db"));
    expect(decide(more)).toMatchObject({ ...NOT_BEGUN, blocked: NAMED });
    expect(more.plan().write).not.toEqual([]);
    const given = blocked.withSpec({ version: "1.34.2" }).with({ upgradeChecks: undefined });
    expect(decide(given)).toMatchObject({
      ...NOT_BEGUN,
      blocked: undefined,
      stalled: undefined,
      upgrading: undefined,
    });
  });

  test.each<[string, ClusterFixture, string]>([
    ["what its checks find", warned().with({ upgradeChecks: BLOCKING }), "UpgradeWarnings"],
    ["the reason of its force", forced(enforced(), "1.35.1 a test"), "UpgradeForced"],
  ])("records %s with the version that Cluster API gets, and once", (_name, fixture, reason) => {
    const { write, events } = fixture.plan();
    expect(write.map(({ kind, event }) => [kind, event?.reason])).toEqual([[capiClusterKind, reason]]);
    expect(events.map((event) => event.reason)).toEqual(["Upgrading"]);
    // The operator died before it wrote the status.
    expect(decide(fixture.interrupted(1)).events).toEqual(["Upgrading"]);
    expect(decide(fixture.reconciled()).events).toEqual([]);
  });

  test("that Cluster API gets later records its warnings with the status, and once", () => {
    const suspended = warned().withSpec({ suspend: true }).with({ upgradeChecks: BLOCKING });
    expect(suspended.plan().write.map(({ event }) => event)).toEqual([undefined]);
    expect(decide(suspended)).toMatchObject({
      target: "1.35.1",
      events: expect.arrayContaining(["UpgradeWarnings"]),
    });
    const resumed = suspended.reconciled().withSpec({ suspend: false });
    expect(decide(resumed).events).not.toContain("UpgradeWarnings");
  });

  test("that has begun is not checked again", () => {
    const begun = enforced().with({ upgradeChecks: [] }).reconciled();
    expect(findTargetToCheck(begun.observed)).toBeUndefined();
    expect(decide(begun.with({ upgradeChecks: BLOCKING }))).toMatchObject({ blocked: undefined });
  });
});

test.each<[string, ClusterFixture, string | undefined]>([
  ["of another minor version is", warned(), "1.35.1"],
  ["is not while the cluster was never there", aCluster({ version: "1.35" }), undefined],
  ["to an earlier version is not", ready().withSpec({ version: "1.33.6" }), undefined],
  ["to a version that the catalogue lacks is not", ready().withSpec({ version: "1.35.9" }), undefined],
  ["of a cluster that is being deleted is not", warned().deleting(), undefined],
  ["of which only the minor version is forced is", forced(warned(), "1.35 a test"), "1.35.1"],
  ["that is forced is not", forced(warned(), "1.35.1 a test"), undefined],
])("an upgrade %s checked", (_name, { observed }, expected) => {
  expect(findTargetToCheck(observed)).toBe(expected);
});

test("a cluster with protection, an end date, labels and a blocked upgrade is left as it is once it is written", () => {
  const spec = { deletionProtection: true, expiresAt: "2099-01-01T00:00:00Z", labels: { team: "web" } };
  const fixture = enforced().withSpec(spec).with({ upgradeChecks: BLOCKING }).reconciled().reconciled();
  expect(decide(fixture).blocked).toEqual(NAMED);
  const { metadata, write, remove, status } = fixture.after(60).plan();
  expect({ metadata, write, remove, status }).toEqual({
    metadata: undefined,
    write: [],
    remove: [],
    status: undefined,
  });
});
