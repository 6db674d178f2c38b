import { join } from "node:path";
import { startPostgres } from "../postgres.ts";
import { type Remote, startRemote } from "../remote.ts";
import type { BillingProgram } from "./programs.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const DIR = join(ROOT, ".marina", "bench-billing-postgres");
const ENTRY = join(ROOT, "apiserver", "billing", "bench", "billing.bench.ts");

/** Runs a benchmark with the functions that bill and an empty database; Postgres is started for it. */
export async function withBillingProgram(
  run: (program: Remote<BillingProgram>) => Promise<void>,
): Promise<void> {
  const postgres = await startPostgres(DIR);
  try {
    const program = startRemote<BillingProgram>(ENTRY);
    await program.call("open", { adminUrl: postgres.adminUrl });
    await run(program);
    await program.call("drop");
    await program.stop();
  } finally {
    await postgres.stop();
  }
}
