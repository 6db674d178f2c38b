import type postgres from "postgres";
import type { StackInfo } from "../stack/stack-info.ts";

export const ORGANIZATIONS = 2000;
const MEMBERS = 20;

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
      FROM organizations CROSS JOIN users`;
  await sql`ANALYZE`;
}
