import type { StackInfo } from "../../platform/stack/stack-info.ts";
import { createTenant, expectStatus } from "../../testing/tenant.ts";

/** Records that exist when the fuzzing begins. */
export interface Seeds {
  orgId: string;
  /** One that may be deleted. */
  spareOrgId: string;
  clusterId: string;
  poolId: string;
  memberId: string;
  tokenId: string;
  /** One that may be rotated. */
  spareTokenId: string;
}

/** Creates an organization with one record of each kind, and an empty one. */
export async function seedTenant({ apiUrl, tokens }: StackInfo): Promise<Seeds> {
  const alice = createTenant(apiUrl, tokens.alice);
  const createOrganization = async (name: string): Promise<string> =>
    expectStatus(201, await alice.call("createOrganization", { body: { name } })).id;
  const [orgID, spareOrgId] = [await createOrganization("Fuzzed"), await createOrganization("Spare")];
  const cluster = { name: "fuzzed", k8s_version: "1.34" };
  const { id: clusterID } = expectStatus(202, await alice.call("createCluster", { orgID, body: cluster }));
  const body = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
  const pool = expectStatus(202, await alice.call("createNodePool", { orgID, clusterID, body }));
  const invitation = { email: "fuzzed@example.com", role: "viewer" } as const;
  const member = expectStatus(201, await alice.call("inviteMember", { orgID, body: invitation }));
  const createToken = async (name: string): Promise<string> => {
    const scopes: ["clusters:read"] = ["clusters:read"];
    const token = await alice.call("createApiToken", { orgID, body: { name, role: "viewer", scopes } });
    return expectStatus(201, token).id;
  };
  return {
    orgId: orgID,
    spareOrgId,
    clusterId: clusterID,
    poolId: pool.id,
    memberId: member.id,
    tokenId: await createToken("fuzzed"),
    spareTokenId: await createToken("spare"),
  };
}
