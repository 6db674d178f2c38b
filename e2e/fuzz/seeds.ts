import type { StackInfo } from "../stack/stack-info.ts";
import { createTenant } from "../tenant.ts";

/** Records that are there when the fuzzing begins. */
export interface Seeds {
  orgId: string;
  /** One that may be deleted. */
  spareOrgId: string;
  clusterId: string;
  poolId: string;
  memberId: string;
  tokenId: string;
}

/** Makes an organization with one record of each kind, and an empty one. */
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
  const organization = `/organizations/${orgId}`;
  const memberId = await create(`${organization}/members`, { email: "fuzzed@example.com", role: "viewer" });
  const token = { name: "fuzzed", role: "viewer", scopes: ["clusters:read"] };
  const tokenId = await create(`${organization}/api-tokens`, token);
  return { orgId, spareOrgId, clusterId, poolId, memberId, tokenId };
}
