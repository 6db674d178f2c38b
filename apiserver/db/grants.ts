import postgres from "postgres";
import { ExplainedError } from "../../shared/program/errors.ts";

/**
 * Lets the API server's role read and change every table but those that are append-only, whose rows it may only add and
 * read, apart from one column each that a trigger lets a row get once. Repeatable, for tables that a migration has added.
 * Connects as the owner of the schema; throws when the role owns it as well.
 */
export async function grantRights(ownerUrl: string, role: string): Promise<void> {
  const sql = postgres(ownerUrl, { max: 1, onnotice: () => undefined, connect_timeout: 10 });
  try {
    const [found] = await sql<
      { owns: boolean }[]
    >`select pg_has_role(${role}, current_user, 'member') as owns`;
    if (found?.owns !== false)
      throw new ExplainedError(
        `The role ${role} owns the schema, so no right can be withheld from it: MARINA_DATABASE_APISERVER_ROLE must be another role.`,
      );
    await sql.begin(async (tx) => {
      await tx`grant select, insert, update, delete on all tables in schema public to ${tx(role)}`;
      await tx`revoke update, delete on audit_log, rate_card_prices, package_terms, usage_evidence, usage_intervals,
          invoices, invoice_lines, credit_notes, credit_note_lines
        from ${tx(role)}`;
      await tx`grant update (position) on audit_log to ${tx(role)}`;
      await tx`grant update (ended_at) on usage_intervals to ${tx(role)}`;
      await tx`grant usage on all sequences in schema public to ${tx(role)}`;
      // By them the API server sees whether the schema is its own.
      await tx`grant usage on schema drizzle to ${tx(role)}`;
      await tx`grant select on drizzle.__drizzle_migrations to ${tx(role)}`;
      await tx`grant execute on function audit_log_add_partitions, audit_log_drop_partitions to ${tx(role)}`;
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}
