import { describe, expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import { toProjectedCluster } from "../resources/project/index.ts";
import { clusterTag, presentCluster } from "./present.ts";
import { clusterRecord } from "./schema.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const CATALOGUE: VersionCatalogue = [
  { version: "1.34.2", status: "supported" },
  { version: "1.35.1", status: "supported" },
];
const CLUSTER: Cluster = {
  apiVersion: "cloud.marina.dev/v1",
  kind: "Cluster",
  metadata: {
    name: "first-abcde",
    namespace: "org-1",
    uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
    resourceVersion: "12",
    generation: 3,
    creationTimestamp: "2026-11-21T09:00:00Z",
    labels: { "cloud.marina.dev/id": ID },
  },
  spec: { version: "1.34.2", publicEndpoint: true },
};

function project(change: Partial<Cluster> = {}) {
  const projected = toProjectedCluster({ ...CLUSTER, ...change }, ID);
  if (projected === undefined) throw new Error("not projected");
  return projected;
}

describe("the cluster record", () => {
  test("of a new cluster: null for what is not there, and nothing that was not reported", () => {
    expect(presentCluster(project(), CATALOGUE)).toEqual({
      id: ID,
      org_id: ID,
      name: "first-abcde",
      labels: {},
      deletion_protection: false,
      deletion_protection_state: "off",
      expires_at: null,
      upgrade_checks: "warn",
      status: "provisioning",
      status_message: "The request was accepted and is carried out within moments.",
      conditions: [],
      plan: null,
      k8s_version: "1.34.2",
      public_endpoint: true,
      node_pools: { total: 0, ready: 0 },
      nodes: { total: 0, ready: 0 },
      upgrade_available: false,
      generation: 3,
      observed_generation: 0,
      first_ready_at: null,
      created_at: "2026-11-21T09:00:00.000Z",
      updated_at: "2026-11-21T09:00:00.000Z",
    });
  });

  test("of one that the operator has not observed: observed_generation is 0", () => {
    const unobserved = project({ status: { observedGeneration: -1 } });
    expect(presentCluster(unobserved, CATALOGUE)).toEqual(presentCluster(project(), CATALOGUE));
  });

  test("of a running one: all that the operator reported", () => {
    const record = presentCluster(
      project({
        spec: { ...CLUSTER.spec, displayName: "First", plan: "growth", publicEndpoint: false },
        status: {
          phase: "Ready",
          observedGeneration: 3,
          version: "v1.34.2",
          apiServerURL: "https://first.example",
          workerSubnet: "10.64.3.0/24",
          firstReadyAt: "2026-11-21T09:05:00Z",
          message: "set spec.version to 1.35.1",
          nodePools: { total: 2, ready: 1 },
          nodes: { total: 4, ready: 3 },
          conditions: [
            {
              type: "Ready",
              status: "True",
              reason: "Available",
              message: "The cluster serves.",
              lastTransitionTime: "2026-11-21T09:05:00Z",
              observedGeneration: 3,
            },
          ],
        },
      }),
      CATALOGUE,
    );
    expect(record).toMatchObject({
      name: "First",
      status: "running",
      status_message: "set k8s_version to 1.35.1",
      plan: "growth",
      current_version: "1.34.2",
      apiserver_url: "https://first.example",
      worker_subnet: "10.64.3.0/24",
      public_endpoint: false,
      node_pools: { total: 2, ready: 1 },
      nodes: { total: 4, ready: 3 },
      upgrade_available: true,
      observed_generation: 3,
      first_ready_at: "2026-11-21T09:05:00.000Z",
    });
    expect(record.conditions).toEqual([
      {
        type: "Ready",
        status: "True",
        reason: "Available",
        message: "The cluster serves.",
        last_transition_time: "2026-11-21T09:05:00.000Z",
      },
    ]);
    expect(clusterRecord.safeParse(record).success).toBe(true);
  });

  test.each<[string, string, string | undefined, string]>([
    ["a full version as it is", "1.34.2", "1.35.1", "1.34.2"],
    ["without its prefix", "v1.34.2", undefined, "1.34.2"],
    ["what MAJOR.MINOR was resolved to", "1.34", "v1.34.2", "1.34.2"],
    ["MAJOR.MINOR until it is resolved", "v1.34", undefined, "1.34"],
  ])("shows as the desired version %s", (_, version, targetVersion, shown) => {
    const status = targetVersion === undefined ? {} : { targetVersion };
    const cluster = project({ spec: { ...CLUSTER.spec, version }, status });
    expect(presentCluster(cluster, CATALOGUE).k8s_version).toBe(shown);
  });

  test("offers no upgrade where the catalogue has none", () => {
    const newest = project({ status: { version: "1.35.1" } });
    expect(presentCluster(newest, CATALOGUE).upgrade_available).toBe(false);
    const installing = project({
      spec: { ...CLUSTER.spec, version: "1.35.1" },
      status: { version: "1.34.2" },
    });
    expect(presentCluster(installing, CATALOGUE).upgrade_available).toBe(false);
    expect(presentCluster(project({ status: { version: "1.34.2" } }), []).upgrade_available).toBe(false);
  });
});

describe("the entity tag of a cluster says what the catalogue makes of it", () => {
  const NEXT: VersionCatalogue = [...CATALOGUE, { version: "1.34.9", status: "supported" }];
  const runs = (version: string, wanted = version) =>
    project({ spec: { ...CLUSTER.spec, version: wanted }, status: { version } });

  test.each<[string, ReturnType<typeof project>, VersionCatalogue, string]>([
    ["there is an upgrade", runs("1.34.2"), CATALOGUE, '"3-12-upgrade"'],
    ["there is none", runs("1.35.1"), NEXT, '"3-12"'],
    ["the catalogue is not known", runs("1.34.2"), [], '"3-12"'],
    ["nothing runs yet", project(), CATALOGUE, '"3-12"'],
    ["what is installed is the newest", runs("1.34.2", "1.35.1"), CATALOGUE, '"3-12"'],
  ])("%s", (_what, cluster, catalogue, tag) => {
    expect(clusterTag(cluster, catalogue)).toBe(tag);
    const isShown = presentCluster(cluster, catalogue).upgrade_available;
    expect(clusterTag(cluster, catalogue).endsWith('-upgrade"')).toBe(isShown);
  });
});
