import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import postgres from "postgres";
import { Pool } from "undici";
import { DEFAULT_PROVIDER } from "../platform/stack/provider.ts";
import { startStack } from "../platform/stack/stack.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { USERS } from "../platform/stack/users.ts";
import { percentile } from "./measure.ts";
import { type Figure, report } from "./report.ts";
import { messagesEach, type SupportSizes, seedTickets, WORDS } from "./support-seed.ts";
import { organizationId, seedOrganizations, waitForInventories } from "./tenants.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const DIR = join(ROOT, ".marina", "bench-support");
const SEEDED_FILE = join(DIR, "seeded.txt");
const DEFAULT_SIZES = { tickets: 1_000_000, messages: 5_000_000 };
const WARM_UP = 20;
const REQUESTS = 300;
const PAGE = 50;
const LATE_PAGE = 1000;
const WRITERS = 50;
const POSTS = 5000;
/** Connections in the pool of an API server. */
const API_CONNECTIONS = 16;
/** One writer begins one message per interval. */
const PACE_MS = 500;
const LIST = "/api/v1/admin/tickets";

const FILTERS: Record<string, string> = {
  all: "",
  "status open": "status=open",
  "status waiting": "status=waiting",
  "severity critical": "severity=critical",
  "category billing": "category=billing",
  "one organization": `org_id=${organizationId(7)}`,
  "one assignee": `assigned=${USERS.alice.sub}`,
  unassigned: "assigned=unassigned",
  overdue: "overdue=true",
  "not overdue": "overdue=false",
  "critical, open, unassigned": "severity=critical&status=open&assigned=unassigned",
  "a common word": `q=${WORDS.common}`,
  "a usual word": `q=${WORDS.usual}`,
  "a rare word": `q=${WORDS.rare}`,
  "an unknown word": `q=${WORDS.unknown}`,
  "two words": `q=${WORDS.common}+${WORDS.usual}`,
  "a common word, open": `q=${WORDS.common}&status=open`,
  "a usual word, one organization": `q=${WORDS.usual}&org_id=${organizationId(7)}`,
};

/**
 * The lists of the platform's staff, with each filter and with words, over many tickets; the first page, compared with
 * page 1,000; 50 writers of messages at once, compared with as many that write one row each; presigning; and the plan
 * of each list. `npm run bench support [tickets] [messages]`; the records are kept, so that another run of the same
 * sizes need not write them.
 */
export async function benchSupport(args: readonly string[] = []): Promise<void> {
  const sizes = readSizes(args);
  const isSeeded = readSeeded() === describeSizes(sizes);
  const stack = await startStack({ provider: DEFAULT_PROVIDER, dir: DIR, fresh: !isSeeded, onCrash: "stop" });
  const api = new Pool(stack.info.apiUrl, { connections: WRITERS });
  const sql = postgres(stack.info.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    await stack.part("operator").kill("SIGTERM");
    if (!isSeeded) await seed(sql, stack.info, sizes);
    const headers = { authorization: `Bearer ${stack.info.tokens.staff}` };
    const figures: Figure[] = [];
    for (const [name, query] of Object.entries(FILTERS)) {
      const times = await measure(() => read(api, `${LIST}?limit=${PAGE}&${query}`, headers));
      figures.push({ name: `list, ${name}: p99`, value: percentile(times, 0.99), unit: "ms", limit: 100 });
    }
    figures.push(...(await comparePages(api, sql, headers, sizes)));
    const plans = await explain(stack.info.databaseUrl);
    figures.push(...(await measurePosts(api, sql, stack.info.tokens.alice, sizes)));
    figures.push(await measureInserts(stack.info.databaseUrl), ...(await measurePresigning()));
    report(`support, ${describeSizes(sizes)}`, figures);
    console.log(plans);
  } finally {
    await Promise.all([api.destroy(), sql.end()]);
    await stack.stop();
  }
}

/** The sizes of the records that the directory keeps of an earlier run. */
function readSeeded(): string | undefined {
  return existsSync(SEEDED_FILE) ? readFileSync(SEEDED_FILE, "utf8") : undefined;
}

function describeSizes({ tickets, messages }: SupportSizes): string {
  return `${tickets} tickets, ${messages} messages`;
}

async function seed(sql: postgres.Sql, info: StackInfo, sizes: SupportSizes): Promise<void> {
  await seedOrganizations(sql, info);
  await seedTickets(sql, sizes);
  await waitForInventories(info);
  writeFileSync(SEEDED_FILE, describeSizes(sizes));
}

function readSizes([tickets, messages]: readonly string[]): SupportSizes {
  const sizes = {
    tickets: Number(tickets ?? DEFAULT_SIZES.tickets),
    messages: Number(messages ?? DEFAULT_SIZES.messages),
  };
  if (Object.values(sizes).every((size) => Number.isInteger(size) && size > 0)) return sizes;
  throw new Error("usage: npm run bench support [tickets] [messages]");
}

async function measure(request: (n: number) => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < WARM_UP + REQUESTS; n++) {
    const startedAt = performance.now();
    await request(n);
    if (n >= WARM_UP) times.push(performance.now() - startedAt);
  }
  return times;
}

async function read(api: Pool, path: string, headers: Record<string, string>): Promise<void> {
  const { statusCode, body } = await api.request({ method: "GET", path, headers });
  await body.dump();
  if (statusCode !== 200) throw new Error(`GET ${path}: status ${statusCode}`);
}

/** The first page and page 1,000 (or the last whole one) alternately, so that noise affects both. */
async function comparePages(
  api: Pool,
  sql: postgres.Sql,
  headers: Record<string, string>,
  { tickets }: SupportSizes,
): Promise<Figure[]> {
  const page = Math.min(LATE_PAGE, Math.floor(tickets / PAGE));
  const [row] = await sql`select id from tickets order by id desc offset ${PAGE * (page - 1) - 1} limit 1`;
  const paths = [`${LIST}?limit=${PAGE}`, `${LIST}?limit=${PAGE}&cursor=${row?.id}`];
  const times: [number[], number[]] = [[], []];
  const one = async (n: number) => {
    const which = n % 2 === 0 ? 0 : 1;
    const startedAt = performance.now();
    await read(api, paths[which] ?? "", headers);
    if (n >= WARM_UP) times[which].push(performance.now() - startedAt);
  };
  for (let n = 0; n < WARM_UP + 10 * REQUESTS; n++) await one(n);
  const [first = 0, late = 0] = times.map((all) => percentile(all, 0.99));
  return [
    { name: "first page: p99", value: first, unit: "ms" },
    { name: `page ${page}: p99`, value: late, unit: "ms" },
    {
      name: "the slower of both: the faster",
      value: Math.max(first, late) / Math.min(first, late),
      unit: "x",
      limit: 1.2,
    },
  ];
}

/** 50 writers, in tickets of many organizations: each a message every half second, then as fast as they can. */
async function measurePosts(
  api: Pool,
  sql: postgres.Sql,
  token: string,
  sizes: SupportSizes,
): Promise<Figure[]> {
  const open = await sql<{ id: string; org_id: string }[]>`
    select id, org_id from tickets where status = 'open' order by id desc limit 1000`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ body: "One more message, as long as most of them are in a conversation." });
  const post = async (n: number) => {
    const ticket = open[n % open.length];
    const path = `/api/v1/organizations/${ticket?.org_id}/tickets/${ticket?.id}/messages`;
    const response = await api.request({ method: "POST", path, headers, body });
    await response.body.dump();
    if (response.statusCode !== 201) throw new Error(`POST ${path}: status ${response.statusCode}`);
  };
  await writeAll(POSTS / 5, 0, post);
  const paced = await writeAll(POSTS, PACE_MS, post);
  const fast = await writeAll(POSTS, 0, post);
  await removePosts(
    sql,
    open.map(({ id }) => id),
    messagesEach(sizes),
  );
  return [
    { name: "POST, 50 writers, 100 a second: p50", value: percentile(paced.times, 0.5), unit: "ms" },
    {
      name: "POST, 50 writers, 100 a second: p99",
      value: percentile(paced.times, 0.99),
      unit: "ms",
      limit: 50,
    },
    { name: "as fast as they can: messages a second", value: POSTS / fast.seconds, unit: "" },
    { name: "as fast as they can: p99", value: percentile(fast.times, 0.99), unit: "ms" },
  ];
}

/**
 * The kept records stay as they were: words are searched from the newest tickets on, which these messages would fill.
 */
async function removePosts(sql: postgres.Sql, ids: readonly string[], each: number): Promise<void> {
  await sql`delete from ticket_messages where ticket_id in ${sql(ids)} and number > ${each}`;
  await sql`update tickets set last_message_number = ${each} where id in ${sql(ids)}`;
  await sql`vacuum analyze ticket_messages`;
}

/** The least that Postgres can do for 50 writers of 100 rows a second: one statement and its commit. */
async function measureInserts(databaseUrl: string): Promise<Figure> {
  const sql = postgres(databaseUrl, { max: API_CONNECTIONS, onnotice: () => undefined });
  await sql`create table if not exists bench_rows (id uuid primary key, body text)`;
  const insert = async () => {
    await sql.begin((tx) => tx`insert into bench_rows values (uuidv7(), 'a row')`);
  };
  await writeAll(POSTS / 5, 0, insert);
  const { times } = await writeAll(POSTS, PACE_MS, insert);
  await sql.end();
  return {
    name: "beside it, one INSERT, 50 writers, 100 a second: p99",
    value: percentile(times, 0.99),
    unit: "ms",
  };
}

/** So many messages by 50 writers, each of which begins at most one every `paceMs`. */
async function writeAll(total: number, paceMs: number, post: (n: number) => Promise<void>) {
  const times: number[] = [];
  const startedAt = performance.now();
  let next = 0;
  const writer = async (first: number) => {
    for (let round = 0; next < total; round++) {
      const dueAt = startedAt + (round + first / WRITERS) * paceMs;
      await sleep(Math.max(0, dueAt - performance.now()));
      const sentAt = performance.now();
      await post(next++);
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, first) => writer(first)));
  return { times, seconds: (performance.now() - startedAt) / 1000 };
}

/** What Postgres does for each list. */
function explain(databaseUrl: string): Promise<string> {
  return runProgram("lists.bench.ts", databaseUrl, JSON.stringify(FILTERS));
}

async function measurePresigning(): Promise<Figure[]> {
  const { uploadMs, downloadMs } = JSON.parse(await runProgram("attachments/presign.bench.ts"));
  return [
    { name: "presigning an upload: CPU", value: uploadMs, unit: "ms", limit: 1 },
    { name: "presigning a download: CPU", value: downloadMs, unit: "ms", limit: 1 },
  ];
}

/** Runs a program of the API server's slice; returns what it printed. */
async function runProgram(file: string, ...args: string[]): Promise<string> {
  const entry = join(ROOT, "apiserver", "tickets", file);
  const { stdout } = await promisify(execFile)(process.execPath, [entry, ...args], { maxBuffer: 16_777_216 });
  return stdout;
}
