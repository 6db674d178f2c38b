import { once } from "node:events";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { readMemoryMB } from "../platform/programs/proc.ts";
import { DEFAULT_PROVIDER } from "../platform/stack/provider.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import {
  createHostileKinds,
  createWellBehaved,
  HOSTILE_KINDS,
  type HostileKind,
  type HostileTenant,
  measureCosts,
} from "./hostile-tenants.ts";
import { median, percentile, secondsSince, until } from "./measure.ts";
import { readBenchOptions } from "./options.ts";
import { type Figure, report } from "./report.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-hostile");
const DEFAULT_SECONDS = 300;
/** Requests of each kind a second. */
const PACE = 12;
/** Well-behaved and hostile tenants alternate: what else the machine does concerns both. */
const TURNS = 10;
/** No turn sends so many of a kind: no request of it is one of an earlier turn. */
const REQUESTS_PER_TURN = 1_000_000;
/** Each kind of the neighbour's requests: three kinds stay below the 3,000 requests a minute of one principal. */
const INTERVAL_MS = 80;
const WARM_UP_SECONDS = 10;
const POOL = {
  name: "bench",
  vcpus: 2,
  memory_gb: 4,
  disk_gb: 20,
  min_nodes: 1,
  desired_nodes: 1,
  max_nodes: 4,
};
/** All hostile tenants are API tokens of one person, whose own limit would spare the API most of them. */
const USER_LIMIT = { burst: 10_000, perMinute: 60_000 };
const TOKEN = {
  name: "bench",
  role: "admin",
  scopes: ["clusters:write", "nodepools:write", "tickets:write", "organization:write", "events:read"],
};

type Times = Record<"GET" | "PUT" | "stream", number[]>;

interface Neighbour {
  api: Pool;
  headers: Record<string, string>;
  cluster: string;
  pool: string;
  refused: number;
}

/**
 * `npm run bench hostile [-- --seconds 120]`: a neighbour's requests during those of eight kinds of hostile tenants at once, compared
 * with those during as many requests a second of well-behaved tenants, in the same run; the memory of the replica; and the
 * processor time that each kind costs by itself.
 */
export async function benchHostile(): Promise<void> {
  const seconds = Number(readBenchOptions().seconds ?? DEFAULT_SECONDS);
  const apiserver = {
    MARINA_TRUSTED_PROXIES: "127.0.0.1/32",
    MARINA_RATE_LIMITS: JSON.stringify({ user: USER_LIMIT }),
  };
  const stack = await startStack({
    provider: DEFAULT_PROVIDER,
    dir: DIR,
    fresh: true,
    onCrash: "stop",
    apiserver,
  });
  const { apiUrl, tokens } = stack.info;
  const api = new Pool(apiUrl, { connections: 8 });
  const others = new Pool(apiUrl, { connections: 64 });
  const senders: HostileKind[] = [];
  try {
    const neighbour = await createNeighbour(api, tokens.bob);
    // What the operator does for the clusters is no part of this.
    await stack.part("operator").kill("SIGTERM");
    const tenants = await createHostileTenants(stack, others);
    const well = tenants.map(createWellBehaved);
    const kinds = createHostileKinds(tenants);
    senders.push(...well, ...kinds);
    await measureFor(neighbour, WARM_UP_SECONDS, createPeriod().times);
    const costs = await measureCosts(stack, kinds);
    const [behaved, hostile] = [createPeriod(), createPeriod()];
    for (let turn = 0; turn < TURNS; turn++) {
      for (const sender of senders) sender.release();
      await sleep(1000);
      const part = { neighbour, seconds: seconds / TURNS, first: turn * REQUESTS_PER_TURN };
      await measureNeighbour(part, behaved, well);
      await measureNeighbour(part, hostile, kinds);
    }
    const { peak } = readMemoryMB(stack.part("apiserver").pid);
    report("hostile", [
      { name: "memory of the replica, peak", value: peak, unit: "MB", limit: 600 },
      { name: "neighbour's requests that were refused", value: neighbour.refused, unit: "", limit: 0 },
      ...describePeriod("well-behaved", behaved),
      ...describePeriod("hostile", hostile),
      ...(["GET", "PUT", "stream"] as const).flatMap((name) =>
        compare(name, behaved.times[name], hostile.times[name]),
      ),
      ...costs,
    ]);
  } finally {
    await Promise.all([...senders.map((sender) => sender.close()), api.destroy(), others.destroy()]);
    await stack.stop();
  }
}

function describePeriod(name: string, { times, sent, seconds, delay }: Period): Figure[] {
  return [
    { name: `requests of ${name} tenants a second`, value: sent / seconds, unit: "/s" },
    { name: `neighbour's requests of each kind beside them`, value: times.GET.length, unit: "" },
    { name: `p99 of the delay of this process beside them`, value: delay.percentile(99) / 1e6, unit: "ms" },
  ];
}

function compare(name: string, before: readonly number[], after: readonly number[]): Figure[] {
  const [behaved, hostile] = [percentile(before, 0.99), percentile(after, 0.99)];
  return [
    { name: `neighbour's ${name}: p99 during well-behaved load`, value: behaved, unit: "ms" },
    { name: `neighbour's ${name}: p99 during hostile load`, value: hostile, unit: "ms" },
    {
      name: `neighbour's ${name}: median, the second to the first`,
      value: median(after) / median(before),
      unit: "x",
    },
    {
      name: `neighbour's ${name}: p99, the second to the first`,
      value: hostile / behaved,
      unit: "x",
      limit: 1.5,
    },
  ];
}

/** What was measured during the senders of one sort, in all turns. */
interface Period {
  times: Times;
  sent: number;
  seconds: number;
  /** The delay of the event loop of this process, which is part of the times. */
  delay: ReturnType<typeof monitorEventLoopDelay>;
}

function createPeriod(): Period {
  const times = { GET: [], PUT: [], stream: [] };
  return { times, sent: 0, seconds: 0, delay: monitorEventLoopDelay({ resolution: 1 }) };
}

/** Adds the neighbour's times while each sender sends as many requests a second, late ones too, beginning with `first`. */
async function measureNeighbour(
  { neighbour, seconds, first }: { neighbour: Neighbour; seconds: number; first: number },
  period: Period,
  senders: readonly Pick<HostileKind, "send">[],
): Promise<void> {
  const stop = new AbortController();
  period.delay.enable();
  const startedAt = performance.now();
  const pace = async (sender: Pick<HostileKind, "send">) => {
    for (let n = 0; !stop.signal.aborted; n++) {
      period.sent += 1;
      // A kind that is not answered at its pace does not hold up itself.
      sender.send(first + n).catch(() => undefined);
      await sleep(Math.max(0, startedAt + ((n + 1) * 1000) / PACE - performance.now()));
    }
  };
  const all = Promise.all(senders.map(pace));
  await measureFor(neighbour, seconds, period.times);
  stop.abort();
  await all;
  period.seconds += secondsSince(startedAt);
  period.delay.disable();
}

/** An organization and a cluster for each kind. */
async function createHostileTenants(
  { info: { apiUrl, tokens } }: Stack,
  api: Pool,
): Promise<HostileTenant[]> {
  const [userToken, headers] = [tokens.alice, headersOf(tokens.alice, 10)];
  const tenants: HostileTenant[] = [];
  for (let n = 0; n < HOSTILE_KINDS; n++) {
    const { id: orgId } = await create(api, headers, "/api/v1/organizations", { name: `Hostile ${n}` });
    const organization = `/api/v1/organizations/${orgId}`;
    const { id } = await create(api, headers, `${organization}/clusters`, {
      name: "bench",
      k8s_version: "1.34",
    });
    const { token = "" } = await create(api, headers, `${organization}/api-tokens`, TOKEN);
    const cluster = `${organization}/clusters/${id}`;
    tenants.push({ apiUrl, token, userToken, orgId, cluster, address: `10.0.0.${n + 20}` });
  }
  return tenants;
}

async function measureFor(neighbour: Neighbour, seconds: number, times: Times): Promise<void> {
  const startedAt = performance.now();
  for (let n = 0; performance.now() < startedAt + seconds * 1000; n++) {
    times.GET.push(await timed(() => send(neighbour, "GET", neighbour.cluster)));
    times.PUT.push(await timed(() => send(neighbour, "PUT", neighbour.pool, { desired_nodes: 1 + (n % 2) })));
    times.stream.push(await timed(() => openStream(neighbour)));
    await sleep(Math.max(0, startedAt + (n + 1) * INTERVAL_MS - performance.now()));
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Until the present state of the cluster has come. */
async function openStream(neighbour: Neighbour): Promise<void> {
  const { statusCode, body } = await neighbour.api.request({
    method: "GET",
    path: `${neighbour.cluster}/system-events`,
    headers: { ...neighbour.headers, accept: "text/event-stream" },
  });
  if (statusCode === 200) await once(body, "data");
  else neighbour.refused += 1;
  body.on("error", () => undefined);
  body.destroy();
}

async function send(neighbour: Neighbour, method: "GET" | "PUT", path: string, body?: object): Promise<void> {
  const response = await neighbour.api.request({
    method,
    path,
    headers: neighbour.headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  await response.body.dump();
  if (response.statusCode !== 200) neighbour.refused += 1;
}

async function createNeighbour(api: Pool, token: string): Promise<Neighbour> {
  const headers = headersOf(token, 9);
  const { id: orgId } = await create(api, headers, "/api/v1/organizations", { name: "Neighbour" });
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const { id } = await create(api, headers, clusters, { name: "bench", k8s_version: "1.34" });
  const cluster = `${clusters}/${id}`;
  const pools = `${cluster}/nodepools`;
  const pool = `${pools}/${(await create(api, headers, pools, POOL)).id}`;
  await until("the pool to be served", async () => {
    const { statusCode, body } = await api.request({ method: "GET", path: pool, headers });
    await body.dump();
    return statusCode === 200;
  });
  return { api, headers, cluster, pool, refused: 0 };
}

async function create(
  api: Pool,
  headers: Record<string, string>,
  path: string,
  body: object,
): Promise<{ id: string; token?: string }> {
  const response = await api.request({ method: "POST", path, headers, body: JSON.stringify(body) });
  const record = (await response.body.json()) as { id?: string; token?: string };
  const { id } = record;
  if (id === undefined) throw new Error(`POST ${path}: ${JSON.stringify(record)}`);
  return { ...record, id };
}

/** Each tenant has an address of its own behind the proxy. */
function headersOf(token: string, host: number): Record<string, string> {
  const forwarded = `10.0.0.${host}`;
  return {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "x-forwarded-for": forwarded,
  };
}
