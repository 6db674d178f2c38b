import { expect } from "vitest";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_PROTECTED } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import { keepProtection } from "../organizations/index.ts";
import { lockOrganization } from "../organizations/store.ts";
import { requireCluster, requireNodePool } from "../resources/write/index.ts";
import type { TestApp } from "../testing/app.ts";
import { author } from "./create/testing.ts";

const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

/** A client of the Kubernetes API with an administrator's rights for the tests of a file, as `setUp` does. */
export const setUpAdminClient = () =>
  setUp(async () => {
    const transport = createTransport({ connection: loadConnection(readStack().kubeconfig) });
    return { ...createClient(transport), close: () => transport.close() };
  });

/** What may be protected. */
export const PROTECTED_KINDS = ["cluster", "pool"] as const;
type ProtectedKind = (typeof PROTECTED_KINDS)[number];

/** A cluster with a pool in an organization of its own, of a plan whose class takes no cluster. */
export async function createProtected(api: TestApp, protection: { [Kind in ProtectedKind]?: boolean } = {}) {
  const orgId = await api.createOrganization();
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const { status, body: record } = await api.request("POST", clusters, {
    body: {
      name: "Shop",
      k8s_version: "1.34",
      plan: "scale",
      deletion_protection: protection.cluster ?? false,
      node_pools: [{ ...POOL, deletion_protection: protection.pool ?? false }],
    },
  });
  expect(status).toBe(202);
  const cluster = `${clusters}/${record.id}`;
  const [pool] = (await api.request("GET", `${cluster}/nodepools`)).body.items;
  const caller: Caller = { author, confirm: (tx) => lockOrganization(tx, orgId), request: undefined };
  const known = await requireCluster(api.deps.db, orgId, record.id);
  const knownPool = await requireNodePool(api.deps.db, orgId, record.id, pool.id);
  const labels = { cluster: `cluster.${known.name}`, pool: `node-pool.${knownPool.name}` };
  const paths = { cluster, pool: `${cluster}/nodepools/${pool.id}` };
  return {
    orgId,
    namespace: known.namespace,
    labels,
    paths,
    caller,
    known: { cluster: known, pool: knownPool },
  };
}
export type Created = Awaited<ReturnType<typeof createProtected>>;

export const findNamespace = ({ deps }: TestApp, { namespace }: Created) =>
  deps.kube.get(namespaceKind, undefined, namespace);

/** The label of its Namespace. */
export const readLabel = async (api: TestApp, made: Created) =>
  (await findNamespace(api, made))?.metadata.labels?.[LABEL_PROTECTED];

/** What the projector does after a change, with `deps`; with `objects` as it has them. */
export async function keepMark(api: TestApp, made: Created, deps: Deps = api.deps, objects?: []) {
  const { namespace } = made;
  const [found, clusters, pools] = await Promise.all([
    findNamespace(api, made),
    api.deps.kube.listAll(clusterKind, { namespace }),
    api.deps.kube.listAll(nodePoolKind, { namespace }),
  ]);
  if (found === undefined) throw new Error(`${namespace} is gone`);
  await keepProtection(deps, found, objects ?? [...clusters, ...pools]);
}

export const protect = (api: TestApp, path: string, value: boolean) =>
  api.request("PUT", path, { body: { deletion_protection: value } });

export const BY_KUBECTL = { fieldManager: "kubectl-edit" };

/** As kubectl sets it. */
export function protectByKubectl(
  { deps: { kube } }: TestApp,
  { namespace, known }: Created,
  deletionProtection: boolean | null,
  kind: ProtectedKind = "cluster",
): Promise<unknown> {
  const patch = { spec: { deletionProtection } };
  return kind === "pool"
    ? kube.mergePatch(nodePoolKind, namespace, known.pool.name, patch, BY_KUBECTL)
    : kube.mergePatch(clusterKind, namespace, known.cluster.name, patch, BY_KUBECTL);
}
