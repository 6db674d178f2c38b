import postgres from "postgres";
import { servePlainly } from "./plain-server.ts";

const RECORD = /^\/record\/([0-9a-f-]{36})$/;
const LIST = /^\/list\/([0-9a-f-]{36})$/;
const CLUSTER = /^\/cluster\/([0-9a-f-]{36})$/;
const NODE_POOLS = /^\/pools\/([0-9a-f-]{36})$/;

/**
 * The least that a Node.js server can do for the same responses: node:http, one prepared statement of postgres.js,
 * JSON. No authentication, validation or log. Prints its port; the argument is the database URL.
 */
const sql = postgres(process.argv[2] ?? "", { max: 10, onnotice: () => undefined });
const columns = sql`id, name, slug, billing_email, vat_id, plan, created_at, updated_at`;

const headers = { "Content-Type": "application/json" };

servePlainly(async (method, url, body) => {
  return { headers, text: JSON.stringify(await handle(method, url, body)) };
});

async function handle(method: string, url: string, body: string): Promise<unknown> {
  const id = RECORD.exec(url)?.[1];
  if (id !== undefined && method === "PUT") {
    const { name } = JSON.parse(body);
    const [row] = await sql`UPDATE organizations SET name = ${name}, version = version + 1, updated_at = now()
                             WHERE id = ${id} RETURNING ${columns}`;
    return row;
  }
  if (id !== undefined) {
    const [row] = await sql`SELECT ${columns} FROM organizations WHERE id = ${id}`;
    return row;
  }
  const cluster = CLUSTER.exec(url)?.[1];
  if (cluster !== undefined) {
    const [row] = await sql`SELECT id, org_id, display_name, status, updated_at, object
      FROM projected_clusters WHERE id = ${cluster} AND deleted_at IS NULL`;
    return toRecord(row);
  }
  const owner = NODE_POOLS.exec(url)?.[1];
  if (owner !== undefined) {
    const rows = await sql`SELECT id, cluster_id, display_name, status, updated_at, object
      FROM projected_node_pools WHERE cluster_id = ${owner} AND deleted_at IS NULL ORDER BY id LIMIT 51`;
    return { items: rows.slice(0, 50).map(toRecord), next_cursor: rows[49]?.id ?? null };
  }
  const user = LIST.exec(url)?.[1] ?? "";
  const items = await sql`SELECT ${columns} FROM organizations
    WHERE id IN (SELECT org_id FROM members WHERE user_id = ${user}) AND deleted_at IS NULL ORDER BY id LIMIT 51`;
  return { items: items.slice(0, 50), next_cursor: items[49]?.id ?? null };
}

/** The fields of an API record, copied from the stored object. */
function toRecord(row: postgres.Row | undefined): unknown {
  if (row === undefined) return null;
  const { object, ...columns } = row;
  const { metadata, spec, status } = object;
  return {
    ...columns,
    ...spec,
    ...status,
    generation: metadata.generation,
    created_at: metadata.creationTimestamp,
  };
}
