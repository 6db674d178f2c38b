import type { StackInfo } from "../platform/stack/stack-info.ts";
import { USERS } from "../platform/stack/users.ts";
import { readCredential, untilRefused } from "../testing/credentials.ts";
import { createTenant, type Tenant } from "../testing/tenant.ts";
import { median, until } from "./measure.ts";
import type { Figure } from "./report.ts";

const RUNS = 3;

/** How long a tenant's API server admits a kubeconfig that was revoked, and those of a member who was removed. */
export async function measureRevocation(
  { apiUrl, tokens }: Pick<StackInfo, "apiUrl" | "tokens">,
  path: string,
): Promise<Figure[]> {
  const alice = createTenant(apiUrl, tokens.alice);
  const bob = createTenant(apiUrl, tokens.bob);
  const revoked: number[] = [];
  const removed: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const { body: issued } = await alice.request("POST", `${path}/kubeconfig`, { ttl_seconds: 600 });
    await alice.request("DELETE", `${path}/accesses/${issued.id}`);
    revoked.push(await untilRefused(readCredential(issued.kubeconfig)));
    removed.push(await removeMember(alice, bob, path));
  }
  return [
    { name: "revoked kubeconfig until refused (median of 3)", value: median(revoked), unit: "s", limit: 5 },
    { name: "kubeconfigs of a removed member until refused", value: median(removed), unit: "s", limit: 10 },
  ];
}

/**
 * Seconds until the member's own kubeconfig and the cluster's administrator's, which the member has seen, are refused.
 */
async function removeMember(alice: Tenant, bob: Tenant, path: string): Promise<number> {
  const [organization] = path.split("/clusters/");
  const member = { email: USERS.bob.email, role: "member" };
  const { body: invited } = await alice.request("POST", `${organization}/members`, member);
  await bob.request("POST", `/me/invitations/${invited.id}/accept`);
  const { body: own } = await bob.request("POST", `${path}/kubeconfig`, { ttl_seconds: 600 });
  let admin = "";
  await until("the administrator's kubeconfig", async () => {
    const { status, body } = await bob.request<string>("GET", `${path}/kubeconfig`);
    if (status === 200) admin = body;
    return status === 200;
  });
  await alice.request("DELETE", `${organization}/members/${invited.id}`);
  const seconds = [own.kubeconfig, admin].map((text) => untilRefused(readCredential(text)));
  return Math.max(...(await Promise.all(seconds)));
}
