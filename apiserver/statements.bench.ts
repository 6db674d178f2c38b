import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { servePlainly } from "../e2e/bench/plain-server.ts";
import { createLogger } from "../shared/program/log.ts";
import { Registry } from "../shared/program/metrics.ts";
import { createApp } from "./app.ts";
import { readConfig } from "./config.ts";
import { connectDatabase } from "./db/client.ts";
import type { Deps } from "./deps.ts";
import type { UserPrincipal } from "./http/authentication/principal.ts";
import { recordStatements, type SentStatement } from "./testing/statements.ts";

/**
 * The statements of a request alone: to a GET or PUT of an organization it responds as the API does, with the same statements and round
 * trips by postgres.js, and nothing else. It records them at the first request of each method, of an API in this process. The
 * environment is that of an API server, the argument the id of the user; prints its port.
 */
const config = readConfig();
const sql = postgres(config.databaseUrl, {
  max: 16,
  onnotice: () => undefined,
  // Drizzle sends JSON as text.
  types: { json: { to: 3802, from: [114, 3802], serialize: (text: string) => text, parse: JSON.parse } },
});
const { db, rightsDb } = connectDatabase(config.databaseUrl);
const log = createLogger({ name: "statements", level: "error" });
const rights = { emailVerified: true, emailTrusted: true, roles: [], expiresAtMs: Number.POSITIVE_INFINITY };
const userId = process.argv[2] ?? "";
const issuer = config.issuers[0]?.issuer ?? "";
const principal: UserPrincipal = { kind: "user", userId, issuer, email: "alice@example.com", ...rights };
const app = createApp({ config, db, rightsDb, log, metrics: new Registry(), now: () => new Date() } as Deps, {
  authenticator: { authenticate: async () => principal },
});

/** The organization of a request with its slug, once that is read, and its new name. */
interface Wanted {
  id: string;
  name: string | undefined;
  slug?: string;
}

const replays = new Map<string, ReturnType<typeof record>>();

servePlainly(async (method, url, body) => {
  const name = body === "" ? undefined : JSON.parse(body).name;
  const wanted = { id: url.slice(url.lastIndexOf("/") + 1), name };
  const replay = replays.get(method) ?? record(wanted, url, { method, ...(body !== "" && { body }) });
  replays.set(method, replay);
  return (await replay)(wanted);
});

/** Returns what sends the same for other requests of this method. */
async function record(wanted: Wanted, url: string, init: { method: string; body?: string }) {
  const sentHeaders = { "content-type": "application/json", "content-length": `${init.body?.length ?? 0}` };
  const request = async () => app.request(url, { ...init, headers: sentHeaders });
  const { result: response, roundTrips } = await recordStatements([db, rightsDb], request);
  const text = await response.text();
  const headers = Object.fromEntries(response.headers);
  const organization = JSON.parse(text);
  const fields = Object.keys(organization);
  const [alone = [], together = []] = [false, true].map((isInTransaction) => {
    const chosen = roundTrips.filter(([first]) => first?.isInTransaction === isInTransaction);
    return chosen.map((sent) => sent.map((one) => toSend(one, { ...wanted, slug: organization.slug })));
  });
  const replay = async (other: Wanted) => {
    const read = await sendAll(sql, alone, other);
    const row = together.length === 0 ? read : await sql.begin((tx) => sendAll(tx, together, other));
    const values = fields.map((field) => [field, row?.[field]]);
    return { headers, text: JSON.stringify(Object.fromEntries(values)) };
  };
  if (response.status !== 200 || (init.method === "GET" && (await replay(wanted)).text !== text))
    throw new Error(`the statements alone do not give the response ${response.status} ${text}`);
  return replay;
}

type Connection = Pick<typeof sql, "unsafe">;
const UUID = /^[0-9a-f-]{36}$/;

/** Returns what sends a statement for another request than it was recorded of. */
function toSend({ text, values }: SentStatement, { id, name, slug }: Wanted) {
  const toValues = (values as (string | null)[]).map((value): ((other: Wanted) => string | null) => {
    if (value === null || value === userId) return () => value;
    if (value === id) return (other) => other.id;
    if (value === slug) return (other) => other.slug ?? "";
    // The id of the request, or of its row in the audit log.
    if (UUID.test(value)) return () => randomUUID();
    if (name === undefined || !value.includes(name)) return () => value;
    return (other) => value.replace(name, other.name ?? "");
  });
  return (connection: Connection, other: Wanted) => {
    const sent = toValues.map((toValue) => toValue(other));
    return connection.unsafe(text, sent, { prepare: true });
  };
}

/** Sends what belongs to each round trip together. Returns the last row of all. */
async function sendAll(connection: Connection, roundTrips: ReturnType<typeof toSend>[][], wanted: Wanted) {
  let row: postgres.Row | undefined;
  for (const sends of roundTrips) {
    const read = { ...wanted, slug: row?.slug };
    const results = await Promise.all(sends.map((send) => send(connection, read)));
    row = results.flat().at(-1) ?? row;
  }
  return row;
}
