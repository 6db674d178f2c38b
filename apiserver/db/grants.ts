import postgres from "postgres";

/**
 * Lets the API server's role read and change every table but the rate card, whose rows it may only add and read, and
 * the audit log, whose rows it may also assign a position. Repeatable, for tables that a migration has added. Connects
 * as the owner of the schema; throws when the role owns it as well.
 */
export async function grantRights(ownerUrl: string, role: string): Promise<void> {
  const sql = postgres(ownerUrl, { max: 1, onnotice: () => undefined, connect_timeout: 10 });
  try {
    const [found] = await sql<
      { owns: boolean }[]
    >`select pg_has_role(${role}, current_user, 'member') as owns`;
    if (found?.owns !== false)
      throw new Error(`The role ${role} owns the schema, so no right can be withheld from it.`);
    await sql.begin(async (tx) => {
      await tx`grant select, insert, update, delete on all tables in schema public to ${tx(role)}`;
      await tx`revoke update, delete on audit_log from ${tx(role)}`;
      await tx`revoke update, delete on rate_card_prices from ${tx(role)}`;
      // Its position in the log, which a trigger lets a row get once.
      await tx`grant update (position) on audit_log to ${tx(role)}`;
      await tx`grant usage on all sequences in schema public to ${tx(role)}`;
      await tx`grant execute on function audit_log_add_partitions, audit_log_drop_partitions to ${tx(role)}`;
    });
  } finally {
    await sql.end({ timeout: 5 });
  }
}
