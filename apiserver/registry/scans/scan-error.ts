import { messageOf } from "../../../shared/program/errors.ts";

/**
 * Why an image could not be scanned: `scanner_unavailable` when the vulnerability database or the scanner itself is
 * missing, damaged or too old, `image_gone` when the image is not in the registry any more, `failed` when the scanner
 * refused it.
 */
export const SCAN_FAULTS = [
  "scanner_unavailable",
  "registry_unavailable",
  "image_gone",
  "timeout",
  "out_of_memory",
  "out_of_disk",
  "failed",
] as const;
export type ScanFault = (typeof SCAN_FAULTS)[number];

/** A scan that ended without a report. `message` is for the platform's staff: it may quote the scanner. */
export class ScanError extends Error {
  override readonly name = "ScanError";
  readonly fault: ScanFault;

  constructor(fault: ScanFault, message: string) {
    super(message);
    this.fault = fault;
  }

  /** Whether the fault lies with the platform, so that it is never counted against the image. */
  get isOfPlatform(): boolean {
    return this.fault === "scanner_unavailable" || this.fault === "registry_unavailable";
  }
}

/** A failure outside the scan itself: no program, no database, no answer from a part of the platform. */
export function toScannerUnavailable(error: unknown): ScanError {
  return new ScanError("scanner_unavailable", messageOf(error));
}

/**
 * What the last words of grype mean (read from v0.120.1: "failed to load vulnerability db", "failed to catalog" with
 * the registry's error codes of the OCI distribution specification).
 */
export function toScanError(errorText: string): ScanError {
  const message = errorText.slice(-MAX_MESSAGE_LENGTH).toWellFormed().trim();
  if (/failed to load vulnerability db|database does not exist/.test(errorText))
    return new ScanError("scanner_unavailable", message);
  if (/MANIFEST_UNKNOWN|NAME_UNKNOWN|BLOB_UNKNOWN/.test(errorText))
    return new ScanError("image_gone", message);
  if (/no space left on device/.test(errorText)) return new ScanError("out_of_disk", message);
  if (
    /connection refused|connection reset|no such host|i\/o timeout|TLS handshake|UNAUTHORIZED|DENIED|TOOMANYREQUESTS|status code 5\d\d/.test(
      errorText,
    )
  )
    return new ScanError("registry_unavailable", message);
  return new ScanError("failed", message === "" ? "the scanner ended without a word" : message);
}

const MAX_MESSAGE_LENGTH = 1000;
