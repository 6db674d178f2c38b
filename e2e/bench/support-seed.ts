import type postgres from "postgres";
import { USERS } from "../platform/stack/users.ts";
import { ORGANIZATIONS } from "./tenants.ts";

/** How many records there are. */
export interface SupportSizes {
  tickets: number;
  messages: number;
}

const TEXTS = 20_000;
const WORDS_A_TEXT = 40;
const VOCABULARY = 20_000;
/** Tickets are this far apart, the last one now. */
const EVERY_MS = 10_000;

/** The words of the searches, by how many messages have them. */
export const WORDS = { common: "w0", usual: "w1000", rare: "ref777", unknown: "nowhere" };

/**
 * Inserts tickets over the organizations of `seedOrganizations`, directly into the tables. Few are open, as after
 * years; words are as unequally frequent as in a language, and each ticket has one word that no other has.
 */
export async function seedTickets(sql: postgres.Sql, { tickets, messages }: SupportSizes): Promise<void> {
  const each = messagesEach({ tickets, messages });
  await sql`set maintenance_work_mem = '1GB'`;
  await withoutForeignKeys(sql, "tickets", () => insertTickets(sql, tickets, each));
  await withoutForeignKeys(sql, "ticket_messages", () => insertMessages(sql, each));
  await sql`vacuum analyze`;
}

/** How many messages a ticket has. */
export function messagesEach({ tickets, messages }: SupportSizes): number {
  return Math.max(1, Math.round(messages / tickets));
}

async function insertTickets(sql: postgres.Sql, tickets: number, each: number): Promise<void> {
  await sql`insert into tickets (id, org_id, subject, category, severity, status, created_by, assigned_to,
      first_response_at, resolved_at, awaiting_since, respond_by, created_at, updated_at, last_message_number)
    select ${idOf(sql)}, organizations.id, 'Subject ' || n,
      (array['cluster', 'networking', 'storage', 'identity', 'billing', 'feature_request', 'general'])[1 + n % 7],
      (array['low', 'medium', 'medium', 'high', 'critical'])[1 + (n / 7) % 5],
      status, ${USERS.alice.sub}, case when n % 3 = 0 then null else staff.id end, created_at, null, created_at,
      case when status = 'open' then created_at + interval '8 hours' end, created_at, created_at, ${each}
    from generate_series(1, ${tickets}::int) as n
    join (select id, row_number() over (order by id) as place from organizations) as organizations
      on organizations.place = 1 + n % ${ORGANIZATIONS}
    join (select id, row_number() over (order by id) as place, count(*) over () as total from users) as staff
      on staff.place = 1 + (n / 3) % staff.total
    cross join lateral (select
      case when n > ${tickets}::int * 0.999 then 'open'
        else (array['resolved', 'closed', 'closed', 'closed', 'closed', 'waiting', 'closed', 'closed', 'in_progress', 'open'])[
          case when n % 1000 < 10 then 1 + n % 10 else 1 + n % 5 end] end as status,
      now() - (${tickets}::float8 - n) * ${EVERY_MS}::float8 * interval '1 millisecond' as created_at) as facts`;
}

async function insertMessages(sql: postgres.Sql, each: number): Promise<void> {
  await sql`create temporary table texts as
    select n, (select string_agg('w' || floor(${VOCABULARY} * power(random(), 3))::int, ' ')
      from generate_series(1, ${WORDS_A_TEXT}) where n = n) as text
    from generate_series(0, ${TEXTS - 1}) as n`;
  await sql`create unique index on texts (n)`;
  // Built at once, an index of words takes minutes; with each row, an hour.
  const [index] = await sql`select indexdef from pg_indexes where indexname = 'ticket_messages_search_idx'`;
  await sql`drop index ticket_messages_search_idx`;
  await sql`insert into ticket_messages
      (id, org_id, ticket_id, number, author_id, author_type, internal, subject, body, created_at)
    select uuidv7(created_at - now()), org_id, tickets.id, number, ${USERS.alice.sub},
      case when number % 2 = 1 then 'tenant' else 'provider' end, number % 4 = 0,
      case when number = 1 then subject end, text || ' ref' || substr(subject, 9), created_at
    from tickets cross join generate_series(1, ${each}) as number
    join texts on n = (substr(subject, 9)::int * ${each} + number) % ${TEXTS}`;
  await sql.unsafe(String(index?.indexdef));
}

/**
 * Adds the foreign keys of a table afterwards: to check them of all rows at once takes seconds, of each row minutes.
 */
async function withoutForeignKeys(
  sql: postgres.Sql,
  table: string,
  insert: () => Promise<void>,
): Promise<void> {
  const keys = await sql`select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
    where conrelid = ${table}::regclass and contype = 'f'`;
  for (const { name } of keys) await sql`alter table ${sql(table)} drop constraint ${sql(name)}`;
  await insert();
  for (const { name, definition } of keys)
    await sql`alter table ${sql(table)} add constraint ${sql(name)} ${sql.unsafe(definition)}`;
}

/** A UUIDv7 of the time of the n-th ticket. */
function idOf(sql: postgres.Sql) {
  return sql`(regexp_replace(
    lpad(to_hex(floor(extract(epoch from created_at) * 1000)::bigint), 12, '0'), '(.{8})(.{4})', '\\1-\\2')
    || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
}
