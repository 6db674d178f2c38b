import { join } from "node:path";

/** Where the benchmarks of the operator keep their run directories. */
export const BENCH_DIR = join(import.meta.dirname, "..", "..", "..", ".marina", "bench-operator");
