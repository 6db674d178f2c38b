import { Counter, Gauge, Histogram, type Registry } from "../../../shared/program/metrics.ts";
import type { ScanFault } from "./scan-error.ts";

export interface ScannerMetrics {
  onScan(result: "done" | ScanFault, seconds: number | undefined): void;
  setDatabaseBuiltAt(at: Date): void;
  onDatabaseUpdate(result: "done" | "failed"): void;
}

/** What the scanner of this process did. */
export function createScannerMetrics(registry: Registry): ScannerMetrics {
  const registers = [registry];
  const scans = new Counter({
    name: "marina_apiserver_image_scans_total",
    help: "Scans of images by this process, by result",
    labelNames: ["result"],
    registers,
  });
  const seconds = new Histogram({
    name: "marina_apiserver_image_scan_seconds",
    help: "Duration of finished scans of images",
    buckets: [1, 2, 5, 10, 30, 60, 120, 300, 600],
    registers,
  });
  const builtAt = new Gauge({
    name: "marina_apiserver_vulnerability_database_timestamp_seconds",
    help: "When the vulnerability database that scans use was built",
    registers,
  });
  const updates = new Counter({
    name: "marina_apiserver_vulnerability_database_updates_total",
    help: "Downloads of the vulnerability database by this process, by result",
    labelNames: ["result"],
    registers,
  });
  return {
    onScan(result, duration) {
      scans.inc({ result });
      if (duration !== undefined) seconds.observe(duration);
    },
    setDatabaseBuiltAt: (at) => builtAt.set(at.getTime() / 1000),
    onDatabaseUpdate: (result) => updates.inc({ result }),
  };
}
