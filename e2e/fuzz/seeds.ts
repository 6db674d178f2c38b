import type { StackInfo } from "../stack/stack-info.ts";
import { createTenant } from "../tenant.ts";

/** Records that are there when the fuzzing begins. */
export interface Seeds {
  orgId: string;
  /** One that may be deleted. */
  spareOrgId: string;
  clusterId: string;
  poolId: string;
}

/** Makes an organization with a cluster and a pool, and an empty one. */
export async function seedTenant({ apiUrl, tokens }: StackInfo): Promise<Seeds> {
  const alice = createTenant(apiUrl, tokens.alice);
  const create = async (path: string, body: unknown): Promise<string> => {
    const answer = await alice.request("POST", path, body);
    if (answer.body.id === undefined) throw new Error(`POST ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body.id;
  };
  const orgId = await create("/organizations", { name: "Fuzzed" });
  const spareOrgId = await create("/organizations", { name: "Spare" });
  const pool = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
  const clusters = `/organizations/${orgId}/clusters`;
  const clusterId = await create(clusters, { name: "fuzzed", k8s_version: "1.34" });
  const poolId = await create(`${clusters}/${clusterId}/nodepools`, pool);
  return { orgId, spareOrgId, clusterId, poolId };
}
