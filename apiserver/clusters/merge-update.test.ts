import { describe, expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import { toProjectedCluster } from "../resources/project/index.ts";
import { type ClusterPatch, mergeClusterUpdate, schedulesDeletion } from "./merge-update.ts";
import { presentCluster } from "./present.ts";
import { updateClusterBody } from "./schema.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const CATALOGUE: VersionCatalogue = [
  { version: "1.34.2", status: "supported" },
  { version: "1.35.1", status: "supported" },
  { version: "1.36.0", status: "supported" },
];

function aCluster(change: Partial<Cluster> = {}) {
  const projected = toProjectedCluster(
    {
      apiVersion: "cloud.marina.dev/v1",
      kind: "Cluster",
      metadata: {
        name: "first-abcde",
        namespace: "org-1",
        uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
        resourceVersion: "12",
        creationTimestamp: "2026-11-21T09:00:00Z",
        labels: { "cloud.marina.dev/id": ID },
      },
      spec: { displayName: "First", version: "1.34.2", publicEndpoint: true, plan: "growth" },
      status: { phase: "Ready", version: "1.34.2" },
      ...change,
    },
    ID,
  );
  if (projected === undefined) throw new Error("not projected");
  return projected;
}

function merge(body: unknown, change: Partial<Cluster> = {}) {
  const result = mergeClusterUpdate(aCluster(change), updateClusterBody.parse(body), CATALOGUE);
  if (result.outcome === "patch") return result.patch;
  return result.outcome === "invalid"
    ? result.details.map(({ field, code }) => `${field}/${code}`)
    : result.outcome;
}

test.each<[string, unknown, unknown]>([
  ["nothing sent", {}, {}],
  ["the present name", { name: "First" }, {}],
  ["a new name", { name: "Second" }, { displayName: "Second" }],
  ["the present version", { k8s_version: "1.34.2" }, {}],
  ["the present version as a create was given it", { k8s_version: "1.34" }, {}],
  ["the next minor", { k8s_version: "1.35" }, { version: "1.35.1" }],
  [
    "a name and a version",
    { name: "Second", k8s_version: "1.35.1" },
    { displayName: "Second", version: "1.35.1" },
  ],
  ["checks that are enforced", { upgrade_checks: "enforce" }, { upgradeChecks: "Enforce" }],
  ["the checks that are the default", { upgrade_checks: "warn" }, {}],
  ["two minors on", { k8s_version: "1.36" }, ["k8s_version/not_incremental"]],
  ["an unknown patch", { k8s_version: "1.35.7" }, ["k8s_version/invalid_enum"]],
  ["the present public_endpoint", { public_endpoint: true }, {}],
  ["another public_endpoint", { public_endpoint: false }, ["public_endpoint/immutable"]],
  ["another plan", { plan: null }, ["plan/immutable"]],
  ["another organization", { org_id: "x", id: ID }, ["org_id/immutable"]],
  ["observed fields, whatever they say", { status: 1, conditions: null, nodes: "x", generation: -1 }, {}],
])("PUT with %s", (_, body, expected) => {
  expect(merge(body)).toEqual(expected);
});

test("checks that were enforced are only warned of again, and repeated as they are", () => {
  const spec = { version: "1.34.2", publicEndpoint: true, upgradeChecks: "Enforce" } as const;
  expect(merge({ upgrade_checks: "warn" }, { spec })).toEqual({ upgradeChecks: "Warn" });
  expect(merge({ upgrade_checks: "enforce" }, { spec })).toEqual({});
});

test("the version as it was sent on create is not an upgrade when there is a newer patch; the patch itself is", () => {
  const newer: VersionCatalogue = [...CATALOGUE, { version: "1.34.9", status: "supported" }];
  const patchOf = (k8s_version: string) =>
    mergeClusterUpdate(aCluster(), updateClusterBody.parse({ k8s_version }), newer);
  expect(patchOf("1.34")).toEqual({ outcome: "patch", patch: {} });
  expect(patchOf("1.34.9")).toEqual({ outcome: "patch", patch: { version: "1.34.9" } });
});

test("the version as a create was given it is no upgrade in any state", () => {
  expect(merge({ k8s_version: "1.34" }, { status: { phase: "Provisioning" } })).toEqual({});
});

test("a new version for a cluster that does not run is refused for its state", () => {
  expect(merge({ k8s_version: "1.35" }, { status: { phase: "Upgrading", version: "1.34.2" } })).toBe(
    "not_running",
  );
  expect(merge({ name: "Second" }, { status: { phase: "Failed" } })).toEqual({ displayName: "Second" });
});

const HELD = {
  version: "1.34.2",
  observedGeneration: 1,
  unapplied: [{ field: "version", reason: "UnsupportedByClass", message: "No." }],
};

describe("the advice of a cluster that waits for another version is accepted", () => {
  const stalled = (reason: string): Partial<Cluster> => ({
    spec: { version: "1.99.0", publicEndpoint: true },
    status: {
      phase: "Failed",
      conditions: [
        {
          type: "Stalled",
          status: "True",
          reason,
          message: "",
          lastTransitionTime: "2026-11-21T09:00:00Z",
          observedGeneration: 1,
        },
      ],
    },
  });
  const running = (reason: string) => ({
    ...stalled(reason),
    status: { ...stalled(reason).status, phase: "Ready" as const, version: "1.34.2" },
  });

  test.each<[string, string, Partial<Cluster>, unknown]>([
    [
      "a version of the catalogue when nothing runs",
      "1.35",
      stalled("UnknownVersion"),
      { version: "1.35.1" },
    ],
    ["what runs", "1.34.2", running("UnknownVersion"), { version: "1.34.2" }],
    ["one step from what runs", "1.35.1", running("UnknownVersion"), { version: "1.35.1" }],
    [
      "what runs after a downgrade was asked for",
      "1.34.2",
      running("DowngradeRefused"),
      { version: "1.34.2" },
    ],
    [
      "what runs where the version alone is not applied",
      "1.34.2",
      {
        spec: { version: "1.35.1", publicEndpoint: true },
        status: { ...HELD, phase: "Degraded" },
      },
      { version: "1.34.2" },
    ],
    [
      "not what runs while the operator has not seen the version yet",
      "1.34.2",
      {
        spec: { version: "1.35.1", publicEndpoint: true },
        status: { version: HELD.version, unapplied: HELD.unapplied, phase: "Ready" },
      },
      "not_running",
    ],
    ["but no unknown version", "1.98.0", stalled("UnknownVersion"), ["k8s_version/invalid_enum"]],
    ["but no two steps", "1.36.0", running("UnknownVersion"), ["k8s_version/not_incremental"]],
  ])("%s", (_, k8s_version, change, expected) => {
    expect(merge({ k8s_version }, change)).toEqual(expected);
  });
});

test("a record that GET returned may be sent back and changes nothing, in every state", () => {
  const spec = { version: "v1.34", publicEndpoint: true };
  const status = { phase: "Provisioning" as const, targetVersion: "1.34.2" };
  const record = presentCluster(aCluster({ spec, status }), CATALOGUE);
  expect(merge(JSON.parse(JSON.stringify(record)), { spec, status })).toEqual({});
});

const EARLY = "2030-01-01T00:00:00Z";
const LATE = "2031-01-01T00:00:00Z";
/** Before the clusters were created. */
const PAST = "2020-01-01T00:00:00Z";

test.each<[string, string | undefined, ClusterPatch, boolean]>([
  ["an end date where there is none", undefined, { expiresAt: LATE }, true],
  ["an earlier end date", LATE, { expiresAt: EARLY }, true],
  ["an earlier end date in another offset", EARLY, { expiresAt: "2030-01-01T00:30:00+01:00" }, true],
  ["an earlier end date, protected", LATE, { expiresAt: EARLY, deletionProtection: true }, true],
  ["lifting the protection before an end date", LATE, { deletionProtection: false }, true],
  ["lifting the protection, with a later one", EARLY, { deletionProtection: false, expiresAt: LATE }, true],
  ["a later end date after one before its creation", PAST, { expiresAt: LATE }, true],
  ["a later end date", EARLY, { expiresAt: LATE }, false],
  ["its end date before its creation once more", PAST, { expiresAt: "2020-01-01T01:00:00+01:00" }, false],
  ["removing an end date before its creation", PAST, { expiresAt: null }, false],
  ["removing the end date", EARLY, { expiresAt: null }, false],
  ["removing both", EARLY, { deletionProtection: false, expiresAt: null }, false],
  ["lifting the protection without an end date", undefined, { deletionProtection: false }, false],
  ["protecting it", EARLY, { deletionProtection: true }, false],
  ["another name", EARLY, { displayName: "Second" }, false],
])("that %s has a cluster deleted, or earlier, is told", (_name, expiresAt, patch, expected) => {
  const { spec } = aCluster().object;
  const current = aCluster({ spec: { ...spec, ...(expiresAt !== undefined && { expiresAt }) } });
  expect(schedulesDeletion(current, patch)).toBe(expected);
});
