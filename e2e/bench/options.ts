import { readOptions } from "../platform/programs/options.ts";

interface BenchOptions {
  /** The names on the command line. */
  names: string[];
  /** Less load, and an exit code of 1 when a ratio is too high; of `api` alone. */
  short: boolean;
  /** How long each part of `hostile` takes, in seconds; without it, its own time. */
  seconds?: string;
  /** The figures are kept as the last ones: see figures.ts. */
  renew: boolean;
}

/** The options of this run. */
export function readBenchOptions(): BenchOptions {
  const { positionals, values } = readOptions({
    allowPositionals: true,
    options: {
      short: { type: "boolean", default: false },
      renew: { type: "boolean", default: false },
      seconds: { type: "string" },
    },
  });
  return { names: positionals, ...values };
}
