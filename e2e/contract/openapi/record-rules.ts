import { compareKubernetesVersions, parseKubernetesVersion } from "../../../shared/crd/kubernetes-version.ts";

/** The version that a cluster (by id) was last seen to install; absent when it installs none. */
export type Installing = Map<string, string>;

interface ClusterFacts {
  id: string;
  k8s_version: string;
  current_version?: string;
  status: string;
  node_pools: { total: number; ready: number };
}

interface PoolFacts {
  id: string;
  status: string;
  desired_nodes: number;
  generation: number;
  observed_generation: number;
}

/**
 * What the records of a response say that cannot be true, one sentence each. Remembers in `installing` what each
 * cluster of the response installs, for a later list of upgrades. `pathname` is that of the request.
 */
export function findUntruths(pathname: string, body: unknown, installing: Installing): string[] {
  const ofOffer = /\/clusters\/([^/]+)\/upgrades$/.exec(pathname);
  const records = readItems(body) ?? [body];
  if (ofOffer !== null) return findWrongOffers(records, installing.get(ofOffer[1] ?? ""));
  return records.flatMap((record) => {
    if (isCluster(record)) return judgeCluster(record, installing);
    return isPool(record) ? judgePool(record) : [];
  });
}

function judgeCluster(
  { id, status, node_pools, ...versions }: ClusterFacts,
  installing: Installing,
): string[] {
  const { k8s_version: desired, current_version: running } = versions;
  if (status === "upgrading" && running !== undefined && desired !== running) installing.set(id, desired);
  else installing.delete(id);
  return node_pools.ready > node_pools.total ? [`cluster ${id}: more pools are ready than there are`] : [];
}

function judgePool({ id, status, generation, observed_generation }: PoolFacts): string[] {
  return status === "ready" && generation !== observed_generation
    ? [`node pool ${id}: ready, but its last change was not seen yet`]
    : [];
}

/** A patch may be left out of a version, which then names none. */
function findWrongOffers(records: readonly unknown[], installs: string | undefined): string[] {
  if (installs === undefined || parseKubernetesVersion(installs) === undefined) return [];
  return records.flatMap((record) => {
    const { version } = record as { version?: string };
    const isOld = version !== undefined && compareKubernetesVersions(version, installs) <= 0;
    return isOld ? [`it offers ${version} while ${installs} is being installed`] : [];
  });
}

function readItems(body: unknown): unknown[] | undefined {
  const items = isObject(body) ? body.items : undefined;
  return Array.isArray(items) ? items : undefined;
}

function isCluster(record: unknown): record is ClusterFacts {
  return isObject(record) && isObject(record.node_pools) && "k8s_version" in record && "status" in record;
}

function isPool(record: unknown): record is PoolFacts {
  return isObject(record) && "desired_nodes" in record && "observed_generation" in record;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
