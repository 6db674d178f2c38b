import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createTenant, type Tenant } from "./tenant.ts";

export const FLUX = "kustomize-controller";

/** The ways to change an object: REST, `kubectl apply --server-side`, and Flux: a forced apply after a dry run. */
export const WAYS = ["rest", "kubectl", "flux"] as const;
export type Way = (typeof WAYS)[number];

/** An object that one way manages: its spec, and its path in REST. */
export interface Managed {
  name: string;
  path: string;
  spec: Record<string, unknown>;
}

type Manifest = { apiVersion: string; kind: string; metadata: object; spec: object };

/** One mutable field: its names in REST and in the object, a value that both accept, and one that both refuse. */
export interface Row {
  field: string;
  wire: string;
  good: unknown;
  bad: unknown;
  /** Both values in REST, where they differ from those of the object. */
  wireGood?: unknown;
  wireBad?: unknown;
  /** The field that REST reports for a rule over several fields. */
  names?: string;
}

/** An organization whose objects are changed in all three ways. */
export interface ThreeWays {
  alice: Tenant;
  kube: KubeClient;
  namespace: string;
  /** Path of the clusters in the REST API. */
  clusters: string;
  manifest(kind: "Cluster" | "NodePool", name: string, spec: object): Manifest;
  /** Rejects with the error message of the Kubernetes API. */
  apply(way: Exclude<Way, "rest">, object: Manifest): Promise<void>;
  findId(kind: typeof clusterKind | typeof nodePoolKind, name: string): Promise<string>;
  waitUntilServed(path: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Creates an organization. Use the plan `scale`, whose clusters this stack refuses: then no machine is created. */
export async function openThreeWays(): Promise<ThreeWays> {
  const stack = readStack();
  const alice = createTenant(stack.apiUrl, stack.tokens.alice);
  const transport = createTransport({ connection: loadConnection(stack.kubeconfig) });
  const kube = createClient(transport);
  const { body: organization } = await alice.request("POST", "/organizations", { name: "Three ways" });
  const namespace = `org-${organization.id}`;
  const clusters = `/organizations/${organization.id}/clusters`;
  await waitFor("the organization's namespace", () =>
    kubectl(["get", "namespace", namespace]).then(() => true),
  );
  return {
    alice,
    kube,
    namespace,
    clusters,
    manifest: (kind, name, spec) => ({
      apiVersion: "cloud.marina.dev/v1",
      kind,
      metadata: { name, namespace },
      spec,
    }),
    async apply(way, object) {
      if (way === "kubectl") {
        await kubectl(["apply", "--server-side", "-f", "-"], { stdin: JSON.stringify(object) });
        return;
      }
      const kind = object.kind === "Cluster" ? clusterKind : nodePoolKind;
      const options = { fieldManager: FLUX, force: true };
      await kube.apply<Cluster | NodePool>(kind as never, object as never, { ...options, dryRun: true });
      await kube.apply<Cluster | NodePool>(kind as never, object as never, options);
    },
    findId: (kind, name) =>
      waitFor(`the id of ${name}`, async () => {
        const object = await kube.get(kind as typeof clusterKind, namespace, name);
        return object?.metadata.labels?.[LABEL_ID];
      }),
    waitUntilServed: (path) =>
      waitFor(`REST to serve ${path}`, async () => (await alice.request("GET", path)).status === 200),
    async close() {
      const { body } = await alice.request("GET", clusters);
      for (const { id } of body.items) await alice.request("DELETE", `${clusters}/${id}`);
      await transport.close();
    },
  };
}
