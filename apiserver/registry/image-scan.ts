import type { Summary, Vulnerability } from "./report.ts";

/** The state of a scan; a digest without one has not been scanned. */
export type ScanState = "pending" | "running" | "success" | "error" | "unsupported";

/** What is known of the vulnerabilities of an image. */
export interface ImageScan {
  state: ScanState;
  /** Of the last report, as the three below are. */
  scannedAt: Date | null;
  /** Which database of vulnerabilities, or which scanner, it was made with. */
  databaseVersion: string | null;
  summary: Summary | null;
  vulnerabilities: Vulnerability[] | null;
}
