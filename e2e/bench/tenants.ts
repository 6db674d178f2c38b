import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";
import { storageInventoryKind } from "../../shared/crd/storage-inventory.ts";
import { createClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";

export const ORGANIZATIONS = 2000;
const MEMBERS = 20;
const INVENTORIES_TIMEOUT_MS = 300_000;
const POLL_MS = 1000;

/** The id of the n-th organization that is seeded, from 0; wraps around. */
export function organizationId(n: number): string {
  const digits = ((n % ORGANIZATIONS) + 1).toString(16);
  return `${digits.padStart(8, "0")}-0000-7000-8000-${digits.padStart(12, "0")}`;
}

/** Inserts 2,000 organizations of alice, each with 20 members, directly into the tables. */
export async function seedOrganizations(
  sql: postgres.Sql,
  { issuer, apiUrl, tokens }: StackInfo,
): Promise<void> {
  await fetch(`${apiUrl}/api/v1/me`, { headers: { authorization: `Bearer ${tokens.alice}` } });
  const others = MEMBERS - 1;
  await sql`INSERT INTO users (id, issuer) SELECT gen_random_uuid(), ${issuer} FROM generate_series(1, ${others})`;
  await sql`INSERT INTO organizations (id, name, slug, namespace_ready_at)
    SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
           'Organization ' || n, 'organization-' || n, now() FROM generate_series(1, ${ORGANIZATIONS}) AS n`;
  await sql`INSERT INTO members (id, org_id, user_id, email, role, accepted_at)
    SELECT gen_random_uuid(), organizations.id, users.id, users.id || '@example.com', 'owner', now()
      FROM organizations CROSS JOIN users ON CONFLICT DO NOTHING`;
  await sql`ANALYZE`;
}

/**
 * Resolves when the API server has made the namespace and the StorageInventory of each organization that was seeded:
 * with several requests for each it takes minutes, and what is measured meanwhile shares its processor.
 */
export async function waitForInventories({ kubeconfig }: StackInfo): Promise<void> {
  const transport = createTransport({ connection: loadConnection(kubeconfig), qps: 50, burst: 50 });
  try {
    const client = createClient(transport);
    const deadline = Date.now() + INVENTORIES_TIMEOUT_MS;
    while ((await client.listAll(storageInventoryKind)).length < ORGANIZATIONS) {
      if (Date.now() > deadline)
        throw new Error("the inventories of the organizations were not made in time");
      await sleep(POLL_MS);
    }
  } finally {
    await transport.close();
  }
}
