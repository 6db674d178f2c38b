import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { report } from "./report.ts";

const ENTRY = join(import.meta.dirname, "..", "..", "apiserver", "http", "contract", "body.bench.ts");
const LIMIT_MS = 20;

interface Cost {
  operationId: string;
  name: string;
  ms: number;
}

/** CPU of the most expensive body that each operation reads, beyond a normal one. */
export async function benchBodies(): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, [ENTRY]);
  const costs: Cost[] = JSON.parse(stdout);
  const byOperation = [...Map.groupBy(costs, ({ operationId }) => operationId).values()];
  const worst = byOperation.map((of) => of.reduce((most, cost) => (cost.ms > most.ms ? cost : most)));
  report(
    "bodies",
    worst.map(({ operationId, name, ms }) => ({
      name: `${operationId}: ${name}`,
      value: ms,
      unit: "ms",
      limit: LIMIT_MS,
    })),
  );
}
