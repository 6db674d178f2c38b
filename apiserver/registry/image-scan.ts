import type { Summary, Vulnerability } from "./report.ts";

/** The state of a scan; a digest without one has not been scanned. */
export type ScanState = "pending" | "running" | "success" | "error" | "unsupported";

/** What is known of the vulnerabilities of an image. */
export interface ImageScan {
  state: ScanState;
  /** When the last report was made; the three fields below are of that report too. */
  scannedAt: Date | null;
  /** Which database of vulnerabilities, or which scanner, it was made with. */
  databaseVersion: string | null;
  summary: Summary | null;
  vulnerabilities: Vulnerability[] | null;
}
