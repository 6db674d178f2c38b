import type { Deps } from "../deps.ts";
import { createDistribution } from "./backend/distribution.ts";
import { createScannerMetrics } from "./scans/metrics.ts";
import { createScannerProgram } from "./scans/scanner-program.ts";
import { startScanner } from "./scans/worker.ts";

/** Scans images until the signal aborts; nothing happens where no scanner is configured. */
export function startImageScanner(deps: Deps, signal: AbortSignal): { stopped: Promise<void> } {
  const { db, log, now, config, metrics } = deps;
  const { registry } = config;
  if (registry?.kind !== "distribution" || registry.scanner === undefined)
    return { stopped: Promise.resolve() };
  const { protocol, host } = new URL(registry.url);
  return startScanner(
    {
      db,
      log,
      now,
      config: registry.scanner,
      backend: createDistribution(registry, now),
      registry: { authority: host, isPlainHttp: protocol === "http:" },
      metrics: createScannerMetrics(metrics),
      program: createScannerProgram(registry.scanner),
    },
    signal,
  );
}
