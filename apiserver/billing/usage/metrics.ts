import { Counter, Gauge, type Registry } from "../../../shared/program/metrics.ts";
import type { Evidence } from "./evidence.ts";

export interface LedgerMetrics {
  onEvidence(evidence: readonly Evidence[]): void;
  /** A round has written everything that existed at `seenAt`. */
  onRound(seenAt: Date): void;
}

/**
 * `marina_apiserver_usage_evidence_total{kind}`, `marina_apiserver_usage_ends_total{reason}` (`ended`, `not_seen`,
 * `expired`), and `marina_apiserver_usage_seen_timestamp_seconds`: until when the ledger is complete, on the replica
 * that writes it.
 */
export function createLedgerMetrics(registry: Registry): LedgerMetrics {
  const registers = [registry];
  const evidenceTotal = new Counter({
    name: "marina_apiserver_usage_evidence_total",
    help: "Rows of evidence added to the ledger of usage, by kind",
    labelNames: ["kind"],
    registers,
  });
  const ends = new Counter({
    name: "marina_apiserver_usage_ends_total",
    help: "Uses that ended, by reason: ended, not_seen (billed until last seen), expired (its last figure was too old)",
    labelNames: ["reason"],
    registers,
  });
  const seen = new Gauge({
    name: "marina_apiserver_usage_seen_timestamp_seconds",
    help: "Until when the ledger of usage is complete, in Unix time",
    registers,
  });
  for (const reason of ["ended", "not_seen", "expired"]) ends.inc({ reason }, 0);
  return {
    onEvidence(evidence) {
      for (const { kind, sample } of evidence) {
        evidenceTotal.inc({ kind });
        if (sample.endReason !== undefined) ends.inc({ reason: sample.endReason });
      }
    },
    onRound: (seenAt) => seen.set(seenAt.getTime() / 1000),
  };
}
