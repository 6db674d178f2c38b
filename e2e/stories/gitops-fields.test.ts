import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport, type Transport } from "../../shared/kube/transport.ts";
import { kubectl, readStack, waitFor } from "../stack/testing.ts";
import { createTenant } from "../testing/tenant.ts";

// The three ways to change a field: a PUT, `kubectl apply --server-side`, and what Flux does: the same apply with
// dryRun=All first, forced. Plan `scale` has no class in this stack, so no machine is ever made.
const FLUX = "kustomize-controller";
const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
let transport: Transport;
let kube: KubeClient;
let namespace: string;
let clusters: string;

beforeAll(async () => {
  transport = createTransport({ connection: loadConnection(stack.kubeconfig) });
  kube = createClient(transport);
  const { body } = await alice.request("POST", "/organizations", { name: "Three ways" });
  namespace = `org-${body.id}`;
  clusters = `/organizations/${body.id}/clusters`;
  await waitFor("the organization's namespace", () =>
    kubectl(["get", "namespace", namespace]).then(() => true),
  );
});

afterAll(async () => {
  const { body } = await alice.request("GET", clusters);
  for (const { id } of body.items) await alice.request("DELETE", `${clusters}/${id}`);
  await transport.close();
});

/** One mutable field: its names here and there, a value that both take, and one that both refuse. */
interface Row {
  field: string;
  wire: string;
  good: unknown;
  bad: unknown;
  /** The same values as REST writes them, where that differs. */
  wireGood?: unknown;
  wireBad?: unknown;
  /** The field that REST names when it is a rule between several. */
  names?: string;
}

const POOL_ROWS: readonly Row[] = [
  { field: "vcpus", wire: "vcpus", good: 4, bad: 129 },
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

const CLUSTER_ROWS: readonly Row[] = [
  {
    field: "authorizedCIDRs",
    wire: "authorized_cidrs",
    good: ["203.0.113.0/24", "2001:db8::/32"],
    bad: ["203.0.113.7"],
  },
  {
    field: "apiServerRateLimit",
    wire: "api_server_rate_limit",
    good: { maxConnectionsPerSecond: 5, burst: 10 },
    wireGood: { max_connections_per_second: 5, burst: 10 },
    bad: { maxConnectionsPerSecond: 0, burst: 10 },
    wireBad: { max_connections_per_second: 0, burst: 10 },
    names: "api_server_rate_limit.max_connections_per_second",
  },
];

const WAYS = ["rest", "kubectl", "flux"] as const;
type Way = (typeof WAYS)[number];

/** An object that one way keeps: what it is to be, and where REST has it. */
interface Kept {
  name: string;
  path: string;
  spec: Record<string, unknown>;
}

type Manifest = { apiVersion: string; kind: string; metadata: object; spec: object };

function manifest(kind: "Cluster" | "NodePool", name: string, spec: object): Manifest {
  return { apiVersion: "cloud.marina.dev/v1", kind, metadata: { name, namespace }, spec };
}

/** Rejects with the complaint of the Kubernetes API. */
async function apply(way: Exclude<Way, "rest">, object: Manifest): Promise<void> {
  if (way === "kubectl") {
    await kubectl(["apply", "--server-side", "-f", "-"], { stdin: JSON.stringify(object) });
    return;
  }
  const kind = object.kind === "Cluster" ? clusterKind : nodePoolKind;
  const options = { fieldManager: FLUX, force: true };
  await kube.apply<Cluster | NodePool>(kind as never, object as never, { ...options, dryRun: true });
  await kube.apply<Cluster | NodePool>(kind as never, object as never, options);
}

async function findId(kind: typeof clusterKind | typeof nodePoolKind, name: string): Promise<string> {
  return waitFor(`the id of ${name}`, async () => {
    const object = await kube.get(kind as typeof clusterKind, namespace, name);
    return object?.metadata.labels?.[LABEL_ID];
  });
}

const served = (path: string) =>
  waitFor(`REST to serve ${path}`, async () => (await alice.request("GET", path)).status === 200);

/** What all three must agree in: the record without what makes it this one. */
function withoutIdentity(record: Record<string, unknown>): Record<string, unknown> {
  const own = ["id", "name", "cluster_id", "created_at", "updated_at", "generation", "observed_generation"];
  const told = ["conditions", "status", "status_message"];
  return Object.fromEntries(Object.entries(record).filter(([key]) => ![...own, ...told].includes(key)));
}

describe("every mutable field of a node pool, by REST, kubectl and Flux (section 4.5)", () => {
  const kept = {} as Record<Way, Kept>;
  const SPEC = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 5, desiredNodes: 1 };

  beforeAll(async () => {
    const cluster = await alice.request("POST", clusters, {
      name: "pools",
      k8s_version: "1.34",
      plan: "scale",
    });
    const path = `${clusters}/${cluster.body.id}/nodepools`;
    const objects = await kube.listAll(clusterKind, { namespace });
    const clusterName = objects.find(({ spec }) => spec.displayName === "pools")?.metadata.name;
    const body = { vcpus: 2, memory_gb: 4, disk_gb: 20, min_nodes: 0, max_nodes: 5, desired_nodes: 1 };
    const made = await alice.request("POST", path, { name: "rest", ...body });
    const pools = await kube.listAll(nodePoolKind, { namespace });
    const own = pools.find(({ metadata }) => metadata.labels?.[LABEL_ID] === made.body.id);
    kept.rest = { name: own?.metadata.name ?? "", path: `${path}/${made.body.id}`, spec: {} };
    for (const way of ["kubectl", "flux"] as const) {
      const spec = { clusterName, displayName: way, ...SPEC };
      await apply(way, manifest("NodePool", way, spec));
      kept[way] = { name: way, path: `${path}/${await findId(nodePoolKind, way)}`, spec };
      await served(kept[way].path);
    }
  });

  async function readSpec(way: Way): Promise<Record<string, unknown>> {
    const object = await kube.get(nodePoolKind, namespace, kept[way].name);
    const { displayName: _, ...spec } = object?.spec ?? { displayName: "" };
    return spec;
  }

  test.each(POOL_ROWS)("$wire: the same object, the same record", async ({ field, wire, good }) => {
    const response = await alice.request("PUT", kept.rest.path, { [wire]: good });
    expect([response.status, response.body[wire]]).toEqual([200, good]);
    for (const way of ["kubectl", "flux"] as const) {
      kept[way].spec = { ...kept[way].spec, [field]: good };
      await apply(way, manifest("NodePool", kept[way].name, kept[way].spec));
    }
    const [rest, byKubectl, byFlux] = await Promise.all(WAYS.map(readSpec));
    expect(rest?.[field]).toEqual(good);
    expect(byKubectl).toEqual(rest);
    expect(byFlux).toEqual(rest);
    for (const way of ["kubectl", "flux"] as const) {
      await waitFor("REST to show it", async () => {
        const { body } = await alice.request("GET", kept[way].path);
        expect(withoutIdentity(body)).toEqual(withoutIdentity(response.body));
        return true;
      });
    }
  });

  test.each(POOL_ROWS)("$wire: the same refusal of the same bad value", async ({ field, wire, bad }) => {
    const before = await Promise.all(WAYS.map(readSpec));
    const response = await alice.request("PUT", kept.rest.path, { [wire]: bad });
    expect(response.status).toBe(422);
    const [detail] = response.body.error.details;
    expect(detail.field.split(/[.[]/)[0]).toBe(wire);
    for (const way of ["kubectl", "flux"] as const) {
      const object = manifest("NodePool", kept[way].name, { ...kept[way].spec, [field]: bad });
      await expect(apply(way, object)).rejects.toThrow(field);
    }
    expect(await Promise.all(WAYS.map(readSpec))).toEqual(before);
  });

  test.each(POOL_ROWS)(
    "$wire: what Flux applies is refused to REST with 409 managed_elsewhere, naming Flux",
    async ({ wire, good }) => {
      const other =
        typeof good === "number" ? ({ vcpus: 2, disk_gb: 41 }[wire] ?? good + 1) : { team: "red" };
      const valid = { desired_nodes: 3, min_nodes: 2, memory_gb: 9, min_memory_gb: 17 }[wire] ?? other;
      const response = await alice.request("PUT", kept.flux.path, { [wire]: valid });
      expect([response.status, response.body.error?.code]).toEqual([409, "managed_elsewhere"]);
      expect(response.body.error.message).toContain(FLUX);
      expect(response.body.error.message).toContain(wire);
    },
  );

  test("REST changes what no pipeline applies, and leaves the rest to it", async () => {
    const { spec } = kept.flux;
    const { drainTimeoutSeconds: _, ...applied } = spec;
    const name = "half";
    await apply("flux", manifest("NodePool", name, { ...applied, displayName: name }));
    const path = kept.flux.path.replace(/[^/]+$/, await findId(nodePoolKind, name));
    await served(path);
    const response = await alice.request("PUT", path, { drain_timeout_seconds: 90 });
    expect([response.status, response.body.drain_timeout_seconds]).toEqual([200, 90]);
    await apply("flux", manifest("NodePool", name, { ...applied, displayName: name }));
    expect((await kube.get(nodePoolKind, namespace, name))?.spec.drainTimeoutSeconds).toBe(90);
  });
});

describe("every mutable field of a cluster, by REST, kubectl and Flux (sections 4.6 and 4.7)", () => {
  const kept = {} as Record<Way, Kept>;
  const SPEC = { version: "1.34.2", plan: "scale", publicEndpoint: true };

  beforeAll(async () => {
    const body = { name: "c-rest", k8s_version: "1.34.2", plan: "scale" };
    const made = await alice.request("POST", clusters, body);
    const objects = await kube.listAll(clusterKind, { namespace });
    const own = objects.find(({ metadata }) => metadata.labels?.[LABEL_ID] === made.body.id);
    kept.rest = { name: own?.metadata.name ?? "", path: `${clusters}/${made.body.id}`, spec: {} };
    for (const way of ["kubectl", "flux"] as const) {
      const name = `c-${way}`;
      const spec = { displayName: name, ...SPEC };
      await apply(way, manifest("Cluster", name, spec));
      kept[way] = { name, path: `${clusters}/${await findId(clusterKind, name)}`, spec };
      await served(kept[way].path);
    }
  });

  async function readNetwork(way: Way) {
    return (await kube.get(clusterKind, namespace, kept[way].name))?.spec.network ?? {};
  }

  const network: Record<string, unknown> = {};

  test.each(CLUSTER_ROWS)("$wire: the same object, the same record", async (row) => {
    const { body: now } = await alice.request("GET", `${kept.rest.path}/network`);
    const body = { ...now, [row.wire]: row.wireGood ?? row.good };
    const response = await alice.request("PUT", `${kept.rest.path}/network`, body);
    expect([response.status, response.body[row.wire]]).toEqual([200, row.wireGood ?? row.good]);
    network[row.field] = row.good;
    for (const way of ["kubectl", "flux"] as const) {
      kept[way].spec = { ...kept[way].spec, network: { ...network } };
      await apply(way, manifest("Cluster", kept[way].name, kept[way].spec));
      expect(await readNetwork(way)).toEqual(await readNetwork("rest"));
      await waitFor("REST to show it", async () => {
        const shown = await alice.request("GET", `${kept[way].path}/network`);
        return JSON.stringify(shown.body[row.wire]) === JSON.stringify(response.body[row.wire]);
      });
    }
  });

  test.each(CLUSTER_ROWS)("$wire: the same refusal of the same bad value", async (row) => {
    const { body: now } = await alice.request("GET", `${kept.rest.path}/network`);
    const body = { ...now, [row.wire]: row.wireBad ?? row.bad };
    const response = await alice.request("PUT", `${kept.rest.path}/network`, body);
    expect([response.status, response.body.error.details[0].field]).toEqual([422, row.names ?? row.wire]);
    for (const way of ["kubectl", "flux"] as const) {
      const spec = { ...kept[way].spec, network: { ...network, [row.field]: row.bad } };
      await expect(apply(way, manifest("Cluster", kept[way].name, spec))).rejects.toThrow(row.field);
    }
  });

  test("name and k8s_version: the same values, the same refusals", async () => {
    expect((await alice.request("PUT", kept.rest.path, { name: "c-rest-2" })).body.name).toBe("c-rest-2");
    for (const [wire, field, bad] of [
      ["name", "displayName", "x".repeat(64)],
      ["k8s_version", "version", "latest"],
    ] as const) {
      const response = await alice.request("PUT", kept.rest.path, { [wire]: bad });
      expect([response.status, response.body.error.details[0].field]).toEqual([422, wire]);
      for (const way of ["kubectl", "flux"] as const) {
        const spec = { ...kept[way].spec, [field]: bad };
        await expect(apply(way, manifest("Cluster", kept[way].name, spec))).rejects.toThrow(field);
      }
    }
    for (const way of ["kubectl", "flux"] as const) {
      kept[way].spec = { ...kept[way].spec, displayName: `c-${way}-2` };
      await apply(way, manifest("Cluster", kept[way].name, kept[way].spec));
      await waitFor("REST to show the name", async () => {
        return (await alice.request("GET", kept[way].path)).body.name === `c-${way}-2`;
      });
    }
  });

  test("what a pipeline applies is refused to REST with 409 managed_elsewhere, naming it", async () => {
    const rename = await alice.request("PUT", kept.flux.path, { name: "mine" });
    const open = await alice.request("PUT", `${kept.flux.path}/network`, { authorized_cidrs: [] });
    for (const [response, wire] of [
      [rename, "name"],
      [open, "authorized_cidrs"],
    ] as const) {
      expect([response.status, response.body.error.code]).toEqual([409, "managed_elsewhere"]);
      expect(response.body.error.message).toContain(FLUX);
      expect(response.body.error.message).toContain(wire);
    }
    // What it does not apply is REST's own.
    const rotated = await alice.request("POST", `${kept.flux.path}/credentials/rotate`);
    expect(rotated.status).toBe(202);
  });

  test("values that REST would refuse are shown as they are, and PUT with what GET returned changes nothing", async () => {
    const spec = { version: "v1.20.7", plan: "retired", publicEndpoint: false };
    await apply("kubectl", manifest("Cluster", "c-old", spec));
    const path = `${clusters}/${await findId(clusterKind, "c-old")}`;
    await served(path);
    const { body } = await alice.request("GET", path);
    expect(body).toMatchObject({
      name: "c-old",
      k8s_version: "1.20.7",
      plan: "retired",
      public_endpoint: false,
    });
    const again = await alice.request("PUT", path, body);
    expect([again.status, again.body.generation]).toEqual([200, body.generation]);
    const fresh = { name: "c-new", k8s_version: "1.20.7", plan: "retired" };
    const refused = await alice.request("POST", clusters, fresh);
    expect(refused.status).toBe(422);
    expect(refused.body.error.details.map(({ field }: { field: string }) => field)).toContain("plan");
  });

  test("two objects of one name are both served, and REST gives the name to no third one", async () => {
    for (const name of ["twin-1", "twin-2"])
      await apply("kubectl", manifest("Cluster", name, { ...SPEC, displayName: "Twin" }));
    const paths = await Promise.all(
      ["twin-1", "twin-2"].map(async (name) => `${clusters}/${await findId(clusterKind, name)}`),
    );
    await Promise.all(paths.map(served));
    const { body } = await alice.request("GET", `${clusters}?name=twin`);
    expect(body.items).toHaveLength(2);
    expect((await alice.request("POST", clusters, { name: "TWIN", k8s_version: "1.34" })).status).toBe(409);
  });
});
