import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Pool } from "undici";
import type { Stack } from "../stack/stack.ts";
import { type Figure, median } from "./report.ts";

const CONNECTIONS = 16;
/** After 12,000 requests a fifth of the CPU still was the compiler's, after 50,000 next to none. */
const WARM_UP_ROUNDS = 25;
const ROUNDS = 7;
const REQUESTS = 2000;

/** One kind of request, as it is sent to the floor and to the API. `n` counts the requests to one of them. */
export interface Case {
  name: string;
  limit: number;
  floor: (n: number) => Ask;
  api: (n: number) => Ask;
}

export interface Ask {
  method: "GET" | "PUT";
  path: string;
  body?: string;
}

type Side = "floor" | "api";

/** CPU of the API beside that of the floor (floor.ts), which runs with the same flags of Node. */
export interface SideBySide {
  /** Sends both sides the same number of requests, in turns. */
  compare(one: Case): Promise<Figure[]>;
  api: Pool;
  headers: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts the floor beside the API server of a stack; alice asks. */
export async function startSideBySide(stack: Stack): Promise<SideBySide> {
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

  async function measure(side: Side, ask: Case[Side], firstNumber: number): Promise<number> {
    const before = readCpuMicroseconds(pids[side]);
    let next = firstNumber;
    const client = async () => {
      while (next < firstNumber + REQUESTS) {
        const wanted = ask(next++);
        const { statusCode, body } = await pools[side].request({ ...wanted, headers });
        await body.dump();
        if (statusCode !== 200) throw new Error(`${wanted.method} ${wanted.path} answered ${statusCode}`);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    return (readCpuMicroseconds(pids[side]) - before) / REQUESTS;
  }

  return {
    api: pools.api,
    headers,
    async compare(one) {
      const samples: Record<Side, number[]> = { floor: [], api: [] };
      for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
        for (const side of ["floor", "api"] as const) {
          const spent = await measure(side, one[side], round * REQUESTS);
          if (round >= WARM_UP_ROUNDS) samples[side].push(spent);
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
