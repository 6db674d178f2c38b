import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Pool } from "undici";
import { cleanEnvironment } from "../platform/programs/environment.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { USERS } from "../platform/stack/users.ts";
import { type BenchRequest, CONNECTIONS, FULL_LOAD, sendBatch } from "./load.ts";
import { median } from "./measure.ts";
import type { Figure } from "./report.ts";

/** One kind of request, as it is sent to each side. `n` counts the requests to one of them. */
export interface Case {
  name: string;
  limit: number;
  floor: (n: number) => BenchRequest;
  /** To what sends the statements of the API alone. */
  statements?: (n: number) => BenchRequest;
  api: (n: number) => BenchRequest;
}

const SIDES = ["floor", "statements", "api"] as const;
type Side = (typeof SIDES)[number];

/** CPU of the API, compared with that of the floor and of its statements alone, which run with the same flags of Node. */
export interface SideBySide {
  /** Sends each side the same number of requests, in alternating batches. */
  compare(one: Case): Promise<Figure[]>;
  api: Pool;
  headers: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts the other sides in addition to the API server of a stack. Every request carries alice's token. */
export async function startSideBySide(stack: Stack, load = FULL_LOAD): Promise<SideBySide> {
  const [floor, statements] = await Promise.all([
    startProgram(stack, "e2e/bench/floor.ts", stack.info.databaseUrl),
    startProgram(stack, "apiserver/statements.bench.ts", USERS.alice.sub),
  ]);
  const api = { pid: stack.part("apiserver").pid, pool: openPool(stack.info.apiUrl) };
  const sides: Record<Side, Program> = { floor, statements, api };
  const headers = {
    authorization: `Bearer ${stack.info.tokens.alice}`,
    "content-type": "application/json",
  };

  /** CPU of one request, in microseconds. */
  async function measureBatch(side: Side, toRequest: Case["api"], batch: number): Promise<number> {
    const count = load.batchSize;
    const { pid, pool } = sides[side];
    const before = readCpuMicroseconds(pid);
    await sendBatch(pool, headers, toRequest, { first: batch * count, count });
    return (readCpuMicroseconds(pid) - before) / count;
  }

  return {
    api: api.pool,
    headers,
    async compare(one) {
      const samples: Record<Side, number[]> = { floor: [], statements: [], api: [] };
      for (let batch = 0; batch < load.warmUpBatches + load.batches; batch++) {
        for (const side of SIDES) {
          const toRequest = one[side];
          if (toRequest === undefined) continue;
          const cpu = await measureBatch(side, toRequest, batch);
          if (batch >= load.warmUpBatches) samples[side].push(cpu);
        }
      }
      const [ofFloor = 0, ofStatements = 0, ofApi = 0] = SIDES.map((side) => median(samples[side]));
      const figures: Figure[] = [
        { name: `${one.name}: floor, CPU`, value: ofFloor, unit: "µs" },
        { name: `${one.name}: API, CPU`, value: ofApi, unit: "µs" },
        { name: `${one.name}: API to floor`, value: ofApi / ofFloor, unit: "x", limit: one.limit },
        { name: `${one.name}: its statements alone, CPU`, value: ofStatements, unit: "µs" },
        { name: `${one.name}: statements to floor`, value: ofStatements / ofFloor, unit: "x" },
        { name: `${one.name}: API to its statements`, value: ofApi / ofStatements, unit: "x" },
      ];
      // The median of no samples is NaN: of a case without statements.
      return figures.filter(({ value }) => !Number.isNaN(value));
    },
    async stop() {
      await Promise.all(Object.values(sides).map(({ pool }) => pool.destroy()));
      for (const { child } of [floor, statements]) child?.kill("SIGKILL");
    },
  };
}

interface Program {
  pid: number;
  pool: Pool;
  child?: ChildProcess;
}

/** Starts a program that prints its port, with the flags and the environment of the API server of a stack. Rejects when it ends before. */
async function startProgram(stack: Stack, entry: string, argument: string): Promise<Program> {
  const flags = readFileSync(`/proc/${stack.part("apiserver").pid}/cmdline`, "utf8")
    .split("\0")
    .filter((flag) => flag.startsWith("--"));
  const environment = `--env-file=${join(dirname(stack.infoFile), "apiserver.env")}`;
  const file = join(import.meta.dirname, "..", "..", entry);
  const child = spawn(process.execPath, [...flags, environment, file, argument], {
    env: cleanEnvironment({}),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`${entry} ended before it reported its port: ${code ?? signal}`);
  });
  const reported = once(createInterface({ input: child.stdout }), "line");
  const [port] = (await Promise.race([reported, ended])) as [string];
  return { child, pid: child.pid ?? 0, pool: openPool(`http://127.0.0.1:${port}`) };
}

function openPool(url: string): Pool {
  return new Pool(url, { connections: CONNECTIONS });
}

/** CPU time of a process with all its threads: the first field of each schedstat, in nanoseconds. */
function readCpuMicroseconds(pid: number): number {
  const folder = `/proc/${pid}/task`;
  let ns = 0;
  for (const thread of readdirSync(folder)) {
    ns += Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]);
  }
  return ns / 1000;
}
