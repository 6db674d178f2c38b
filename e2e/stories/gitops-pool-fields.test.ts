import { beforeAll, describe, expect, test } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { setUp } from "../testing/set-up.ts";
import { FLUX, type Managed, openThreeWays, type Row, WAYS, type Way } from "../testing/three-ways.ts";

const ways = setUp(openThreeWays);

const POOL_ROWS: readonly Row[] = [
  { field: "vcpus", wire: "vcpus", good: 4, bad: 129 },
  { field: "labels", wire: "labels", good: { team: "web", stage: "" }, bad: { "x.k8s.io/team": "web" } },
  { field: "deletionProtection", wire: "deletion_protection", good: true, bad: "yes" },
  { field: "expiresAt", wire: "expires_at", good: "2099-12-01T10:00:00.000Z", bad: "tomorrow" },
  { field: "memoryGB", wire: "memory_gb", good: 8, bad: 513 },
  { field: "diskGB", wire: "disk_gb", good: 40, bad: 2049 },
  { field: "maxNodes", wire: "max_nodes", good: 8, bad: 1001 },
  { field: "desiredNodes", wire: "desired_nodes", good: 2, bad: 9 },
  { field: "minNodes", wire: "min_nodes", good: 1, bad: 3 },
  { field: "maxVCPUs", wire: "max_vcpus", good: 16, bad: 0 },
  { field: "minVCPUs", wire: "min_vcpus", good: 8, bad: 17 },
  { field: "maxMemoryGB", wire: "max_memory_gb", good: 64, bad: 0 },
  { field: "minMemoryGB", wire: "min_memory_gb", good: 16, bad: 65 },
  {
    field: "nodeLabels",
    wire: "node_labels",
    good: { team: "blue", "example.com/tier": "web" },
    bad: { "kubernetes.io/os": "x" },
  },
  { field: "drainTimeoutSeconds", wire: "drain_timeout_seconds", good: 60, bad: 0 },
  { field: "scaleDownDelaySeconds", wire: "scale_down_delay_seconds", good: 120, bad: 59 },
  { field: "scaleDownUtilizationPercent", wire: "scale_down_utilization_percent", good: 40, bad: 91 },
];

/** The record without its identity: all three must agree in it. */
function withoutIdentity(record: Record<string, unknown>): Record<string, unknown> {
  const own = ["id", "name", "cluster_id", "created_at", "updated_at", "generation", "observed_generation"];
  const observed = ["conditions", "status", "status_message", "deletion_protection_state"];
  return Object.fromEntries(Object.entries(record).filter(([key]) => ![...own, ...observed].includes(key)));
}

describe("every mutable field of a node pool, by REST, kubectl and Flux", () => {
  const managed = {} as Record<Way, Managed>;
  const SPEC = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 5, desiredNodes: 1 };

  beforeAll(async () => {
    const cluster = await ways.alice.request("POST", ways.clusters, {
      name: "pools",
      k8s_version: "1.34",
      plan: "scale",
    });
    const path = `${ways.clusters}/${cluster.body.id}/nodepools`;
    const objects = await ways.kube.listAll(clusterKind, { namespace: ways.namespace });
    const clusterName = objects.find(({ spec }) => spec.displayName === "pools")?.metadata.name;
    const body = { vcpus: 2, memory_gb: 4, disk_gb: 20, min_nodes: 0, max_nodes: 5, desired_nodes: 1 };
    const created = await ways.alice.request("POST", path, { name: "rest", ...body });
    const pools = await ways.kube.listAll(nodePoolKind, { namespace: ways.namespace });
    const own = pools.find(({ metadata }) => metadata.labels?.[LABEL_ID] === created.body.id);
    managed.rest = { name: own?.metadata.name ?? "", path: `${path}/${created.body.id}`, spec: {} };
    for (const way of ["kubectl", "flux"] as const) {
      const spec = { clusterName, displayName: way, ...SPEC };
      await ways.apply(way, ways.manifest("NodePool", way, spec));
      managed[way] = { name: way, path: `${path}/${await ways.findId(nodePoolKind, way)}`, spec };
      await ways.waitUntilServed(managed[way].path);
    }
  });

  async function readSpec(way: Way): Promise<Record<string, unknown>> {
    const object = await ways.kube.get(nodePoolKind, ways.namespace, managed[way].name);
    const { displayName: _, ...spec } = object?.spec ?? { displayName: "" };
    return spec;
  }

  test.each(POOL_ROWS)("$wire: the same object, the same record", async ({ field, wire, good }) => {
    const response = await ways.alice.request("PUT", managed.rest.path, { [wire]: good });
    expect([response.status, response.body[wire]]).toEqual([200, good]);
    for (const way of ["kubectl", "flux"] as const) {
      managed[way].spec = { ...managed[way].spec, [field]: good };
      await ways.apply(way, ways.manifest("NodePool", managed[way].name, managed[way].spec));
    }
    const [rest, byKubectl, byFlux] = await Promise.all(WAYS.map(readSpec));
    expect(rest?.[field]).toEqual(good);
    expect(byKubectl).toEqual(rest);
    expect(byFlux).toEqual(rest);
    for (const way of ["kubectl", "flux"] as const) {
      await waitFor("REST to show it", async () => {
        const { body } = await ways.alice.request("GET", managed[way].path);
        expect(withoutIdentity(body)).toEqual(withoutIdentity(response.body));
        return true;
      });
    }
  });

  test.each(POOL_ROWS)("$wire: the same refusal of the same bad value", async ({ field, wire, bad }) => {
    const before = await Promise.all(WAYS.map(readSpec));
    const response = await ways.alice.request("PUT", managed.rest.path, { [wire]: bad });
    expect(response.status).toBe(422);
    const [detail] = response.body.error.details;
    expect(detail.field.split(/[.[]/)[0]).toBe(wire);
    for (const way of ["kubectl", "flux"] as const) {
      const object = ways.manifest("NodePool", managed[way].name, { ...managed[way].spec, [field]: bad });
      await expect(ways.apply(way, object)).rejects.toThrow(field);
    }
    expect(await Promise.all(WAYS.map(readSpec))).toEqual(before);
  });

  test.each(POOL_ROWS)(
    "$wire: what Flux applies is refused to REST with 409 managed_elsewhere, naming Flux",
    async ({ wire, good }) => {
      const other =
        typeof good === "number" ? ({ vcpus: 2, disk_gb: 41 }[wire] ?? good + 1) : { team: "red" };
      const chosen = {
        desired_nodes: 3,
        min_nodes: 2,
        memory_gb: 9,
        min_memory_gb: 17,
        deletion_protection: false,
        expires_at: null,
      };
      const valid = wire in chosen ? chosen[wire as keyof typeof chosen] : other;
      const response = await ways.alice.request("PUT", managed.flux.path, { [wire]: valid });
      expect([response.status, response.body.error?.code]).toEqual([409, "managed_elsewhere"]);
      expect(response.body.error.message).toContain(FLUX);
      expect(response.body.error.message).toContain(wire);
    },
  );

  test("REST changes what no pipeline applies, and keeps its other fields", async () => {
    const { spec } = managed.flux;
    const { drainTimeoutSeconds: _, ...applied } = spec;
    const name = "half";
    await ways.apply("flux", ways.manifest("NodePool", name, { ...applied, displayName: name }));
    const path = managed.flux.path.replace(/[^/]+$/, await ways.findId(nodePoolKind, name));
    await ways.waitUntilServed(path);
    const response = await ways.alice.request("PUT", path, { drain_timeout_seconds: 90 });
    expect([response.status, response.body.drain_timeout_seconds]).toEqual([200, 90]);
    await ways.apply("flux", ways.manifest("NodePool", name, { ...applied, displayName: name }));
    expect((await ways.kube.get(nodePoolKind, ways.namespace, name))?.spec.drainTimeoutSeconds).toBe(90);
  });
});
