import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import postgres from "postgres";
import { Pool } from "undici";
import { type Stack, startStack } from "../stack/stack.ts";
import type { StackInfo } from "../stack/stack-info.ts";
import { USERS } from "../stack/users.ts";
import { readCpuMicroseconds } from "./proc.ts";
import { type Figure, median, report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-api");
const ORGANIZATIONS = 2000;
const MEMBERS = 20;
const CONNECTIONS = 16;
const ROUNDS = 3;
const REQUESTS = 2000;

/** One kind of request, as it is sent to the floor and to the API. */
interface Case {
  name: string;
  limit: number;
  floor: Ask;
  api: Ask;
}

interface Ask {
  method: "GET" | "PUT";
  path: string;
  body?: string;
}

/**
 * CPU of one request of the API beside the floor (floor.ts), in turns in one run; CPU of one verification of a
 * credential; time of a page of organizations at the beginning and at the end of 2,000.
 */
export async function benchApi(): Promise<void> {
  const verification = await measureVerification();
  const stack = await startStack({ dir: DIR, fresh: true, engine: "in-memory", onCrash: "stop" });
  let floor: ChildProcess | undefined;
  try {
    await stack.part("operator").kill("SIGTERM");
    await seedOrganizations(stack.info);
    floor = startFloor(stack);
    const pools = {
      floor: new Pool(`http://127.0.0.1:${await readPort(floor)}`, { connections: CONNECTIONS }),
      api: new Pool(stack.info.apiUrl, { connections: CONNECTIONS }),
    };
    const pids = { floor: floor.pid ?? 0, api: stack.part("apiserver").pid };
    const headers = {
      authorization: `Bearer ${stack.info.tokens.alice}`,
      "content-type": "application/json",
    };
    const ratios: Figure[] = [];
    for (const one of casesFor(await firstOrganization(stack.info))) {
      ratios.push(...(await compare(one, pools, pids, headers)));
    }
    const pages = await measurePages(pools.api, headers);
    await Promise.all([pools.floor.close(), pools.api.close()]);
    report("api", [
      ...ratios,
      { name: "JWT verified a moment ago: CPU", value: verification.cached, unit: "µs", limit: 20 },
      { name: "JWT seen for the first time: CPU", value: verification.first, unit: "µs" },
      { name: "page 1 of 2,000 organizations: p99", value: pages.first, unit: "ms" },
      { name: "last page: p99", value: pages.last, unit: "ms" },
      { name: "the slower of both: the faster", value: pages.ratio, unit: "x", limit: 1.2 },
    ]);
  } finally {
    floor?.kill("SIGKILL");
    await stack.stop();
  }
}

function casesFor(organization: string): Case[] {
  const path = `/api/v1/organizations/${organization}`;
  const body = JSON.stringify({ name: "Organization 0" });
  return [
    {
      name: "GET one record",
      limit: 1.6,
      floor: { method: "GET", path: `/record/${organization}` },
      api: { method: "GET", path },
    },
    {
      name: "GET a page of 50",
      limit: 1.5,
      floor: { method: "GET", path: `/list/${USERS.alice.sub}` },
      api: { method: "GET", path: "/api/v1/organizations?limit=50" },
    },
    {
      name: "PUT, validated",
      limit: 2,
      floor: { method: "PUT", path: `/record/${organization}`, body },
      api: { method: "PUT", path, body },
    },
  ];
}

type Side = "floor" | "api";

async function compare(
  one: Case,
  pools: Record<Side, Pool>,
  pids: Record<Side, number>,
  headers: Record<string, string>,
): Promise<Figure[]> {
  const samples: Record<Side, number[]> = { floor: [], api: [] };
  for (let round = -1; round < ROUNDS; round++) {
    for (const side of ["floor", "api"] as const) {
      const before = readCpuMicroseconds(pids[side]);
      await sendMany(pools[side], one[side], headers, REQUESTS);
      const spent = (readCpuMicroseconds(pids[side]) - before) / REQUESTS;
      // The first round warms up the compiler and the caches.
      if (round >= 0) samples[side].push(spent);
    }
  }
  const [floor, api] = [median(samples.floor), median(samples.api)];
  return [
    { name: `${one.name}: floor, CPU`, value: floor, unit: "µs" },
    { name: `${one.name}: API, CPU`, value: api, unit: "µs" },
    { name: `${one.name}: API to floor`, value: api / floor, unit: "x", limit: one.limit },
  ];
}

async function sendMany(pool: Pool, ask: Ask, headers: Record<string, string>, count: number): Promise<void> {
  let left = count;
  const client = async () => {
    while (left-- > 0) {
      const { statusCode, body } = await pool.request({ ...ask, headers });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${ask.method} ${ask.path} answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
}

/** p99 of the first and of the last page, asked in turns by one client, so that the machine's moods meet both. */
async function measurePages(pool: Pool, headers: Record<string, string>) {
  const cursors: string[] = [];
  const read = async (cursor: string | undefined) => {
    const query = cursor === undefined ? "" : `&cursor=${cursor}`;
    const startedAt = performance.now();
    const { body } = await pool.request({
      method: "GET",
      path: `/api/v1/organizations?limit=50${query}`,
      headers,
    });
    const page = (await body.json()) as { next_cursor: string | null };
    return { ms: performance.now() - startedAt, next: page.next_cursor };
  };
  for (let next = (await read(undefined)).next; next !== null; next = (await read(next)).next)
    cursors.push(next);
  const times: [number[], number[]] = [[], []];
  for (let n = 0; n < 1000; n++) {
    times[0].push((await read(undefined)).ms);
    times[1].push((await read(cursors.at(-1))).ms);
  }
  const [first, last] = times.map((all) => all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.99)] ?? 0);
  const [a, b] = [first ?? 0, last ?? 0];
  return { first: a, last: b, ratio: Math.max(a, b) / Math.min(a, b) };
}

/** 2,000 organizations of alice, each with 20 members. */
async function seedOrganizations({ databaseUrl, issuer, apiUrl, tokens }: StackInfo): Promise<void> {
  await fetch(`${apiUrl}/api/v1/me`, { headers: { authorization: `Bearer ${tokens.alice}` } });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const strangers = MEMBERS - 1;
    await sql`INSERT INTO users (id, issuer) SELECT gen_random_uuid(), ${issuer} FROM generate_series(1, ${strangers})`;
    await sql`INSERT INTO organizations (id, name, slug, namespace_ready_at)
      SELECT (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
             'Organization ' || n, 'organization-' || n, now() FROM generate_series(1, ${ORGANIZATIONS}) AS n`;
    await sql`INSERT INTO members (id, org_id, user_id, email, role, accepted_at)
      SELECT gen_random_uuid(), organizations.id, users.id, users.id || '@example.com', 'owner', now()
        FROM organizations CROSS JOIN users`;
    await sql`ANALYZE`;
  } finally {
    await sql.end();
  }
}

async function firstOrganization({ apiUrl, tokens }: StackInfo): Promise<string> {
  const answer = await fetch(`${apiUrl}/api/v1/organizations?limit=1`, {
    headers: { authorization: `Bearer ${tokens.alice}` },
  });
  const { items } = (await answer.json()) as { items: { id: string }[] };
  return items[0]?.id ?? "";
}

async function measureVerification(): Promise<{ cached: number; first: number }> {
  const entry = join(import.meta.dirname, "..", "..", "apiserver", "http", "auth.bench.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [entry]);
  return JSON.parse(stdout);
}

/** The floor, with the flags of Node that the API server runs with. */
function startFloor(stack: Stack): ChildProcess {
  const { pid } = stack.part("apiserver");
  const flags = readFileSync(`/proc/${pid}/cmdline`, "utf8")
    .split("\0")
    .filter((argument) => argument.startsWith("--"));
  const entry = join(import.meta.dirname, "floor.ts");
  return spawn(process.execPath, [...flags, entry, stack.info.databaseUrl], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function readPort(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error("the floor has no output");
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return Number(line);
}
