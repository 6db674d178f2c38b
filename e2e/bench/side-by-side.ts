import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Pool } from "undici";
import type { Stack } from "../platform/stack/stack.ts";
import { type BenchRequest, CONNECTIONS, FULL_LOAD, sendBatch } from "./load.ts";
import { median } from "./measure.ts";
import type { Figure } from "./report.ts";

/** One kind of request, as it is sent to the floor and to the API. `n` counts the requests to one of them. */
export interface Case {
  name: string;
  limit: number;
  floor: (n: number) => BenchRequest;
  api: (n: number) => BenchRequest;
}

type Side = "floor" | "api";

/** CPU of the API, compared with that of the floor (floor.ts), which runs with the same flags of Node. */
export interface SideBySide {
  /** Sends both sides the same number of requests, in alternating batches. */
  compare(one: Case): Promise<Figure[]>;
  api: Pool;
  headers: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts the floor in addition to the API server of a stack. Every request carries alice's token. */
export async function startSideBySide(stack: Stack, load = FULL_LOAD): Promise<SideBySide> {
  const floor = startFloor(stack);
  const port = await readPort(floor);
  const pools = {
    floor: new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS }),
    api: new Pool(stack.info.apiUrl, { connections: CONNECTIONS }),
  };
  const pids = { floor: floor.pid ?? 0, api: stack.part("apiserver").pid };
  const headers = {
    authorization: `Bearer ${stack.info.tokens.alice}`,
    "content-type": "application/json",
  };

  /** CPU of one request, in microseconds. */
  async function measureBatch(side: Side, toRequest: Case[Side], batch: number): Promise<number> {
    const count = load.batchSize;
    const before = readCpuMicroseconds(pids[side]);
    await sendBatch(pools[side], headers, toRequest, { first: batch * count, count });
    return (readCpuMicroseconds(pids[side]) - before) / count;
  }

  return {
    api: pools.api,
    headers,
    async compare(one) {
      const samples: Record<Side, number[]> = { floor: [], api: [] };
      for (let batch = 0; batch < load.warmUpBatches + load.batches; batch++) {
        for (const side of ["floor", "api"] as const) {
          const cpu = await measureBatch(side, one[side], batch);
          if (batch >= load.warmUpBatches) samples[side].push(cpu);
        }
      }
      const [ofFloor, ofApi] = [median(samples.floor), median(samples.api)];
      return [
        { name: `${one.name}: floor, CPU`, value: ofFloor, unit: "µs" },
        { name: `${one.name}: API, CPU`, value: ofApi, unit: "µs" },
        { name: `${one.name}: API to floor`, value: ofApi / ofFloor, unit: "x", limit: one.limit },
      ];
    },
    async stop() {
      await Promise.all([pools.floor.destroy(), pools.api.destroy()]);
      floor.kill("SIGKILL");
    },
  };
}

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

/** CPU time of a process with all its threads: the first field of each schedstat, in nanoseconds. */
function readCpuMicroseconds(pid: number): number {
  const folder = `/proc/${pid}/task`;
  let ns = 0;
  for (const thread of readdirSync(folder)) {
    ns += Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]);
  }
  return ns / 1000;
}
