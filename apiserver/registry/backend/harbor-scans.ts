import { z } from "zod";
import type { ImageScan, ScanState } from "../image-scan.ts";
import { mergeReport, toVulnerability, type Vulnerability } from "../report.ts";
import { BackendError, type OwnScans } from "./backend.ts";
import type { BackendRequest, BackendResponse } from "./http.ts";
import { parseResponse, requireStatus } from "./oci.ts";

/** The form of reports that Harbor is asked for; without this header it may respond with none. */
export const REPORT_TYPE = "application/vnd.security.vulnerability.report; version=1.1";

const artifactSchema = z.object({
  scan_overview: z
    .record(
      z.string(),
      z.object({
        scan_status: z.string().default(""),
        end_time: z.coerce.date().optional().catch(undefined),
        scanner: z.object({ name: z.string(), version: z.string().default("") }).optional(),
      }),
    )
    .nullish(),
});
const reportsSchema = z.record(
  z.string(),
  z.object({
    vulnerabilities: z
      .array(
        z.object({
          id: z.string(),
          package: z.string().default(""),
          version: z.string().default(""),
          fix_version: z.string().default(""),
          severity: z.string().default(""),
          description: z.string().default(""),
          links: z.array(z.string()).nullish(),
        }),
      )
      .nullish(),
  }),
);

/** The states of Harbor's jobs. */
const STATES: Record<string, ScanState> = {
  Pending: "pending",
  Scheduled: "pending",
  Running: "running",
  Success: "success",
  Error: "error",
  Stopped: "error",
};

/** Sends a request about one artifact to the API of Harbor; `path` begins after the artifact. */
export type CallArtifact = (
  method: BackendRequest["method"],
  artifact: { repository: string; reference: string },
  path: string,
  body?: object,
) => Promise<BackendResponse>;

/** The scans that Harbor makes itself, by its API 2.0. A rescan hides the last report until it has ended. */
export function createHarborScans(call: CallArtifact): OwnScans {
  const findOverview = async (repository: string, digest: string) => {
    const artifact = { repository, reference: digest };
    const response = await call("GET", artifact, "?with_scan_overview=true&with_tag=false");
    if (response.status === 404) return undefined;
    requireStatus(response, 200);
    return Object.values(parseResponse(artifactSchema, response).scan_overview ?? {})[0];
  };
  const find = async (repository: string, digest: string): Promise<ImageScan | undefined> => {
    const overview = await findOverview(repository, digest);
    if (overview === undefined) return undefined;
    const state = STATES[overview.scan_status] ?? "error";
    if (state !== "success") return { ...NO_REPORT, state };
    const artifact = { repository, reference: digest };
    const reports = await call("GET", artifact, "/additions/vulnerabilities");
    requireStatus(reports, 200);
    const { summary, vulnerabilities } = mergeReport(parseReports(reports));
    const scanner = overview.scanner && `${overview.scanner.name} ${overview.scanner.version}`;
    const scannedAt = overview.end_time ?? null;
    return { state, scannedAt, databaseVersion: scanner ?? null, summary, vulnerabilities };
  };
  return {
    find,
    async findReportTime(repository, digest) {
      const overview = await findOverview(repository, digest);
      return overview?.scan_status === "Success" ? overview.end_time : undefined;
    },
    async request(repository, digest) {
      const response = await call("POST", { repository, reference: digest }, "/scan", {
        scan_type: "vulnerability",
      });
      // 409: a scan runs. 400 and 422: an artifact that the scanner does not support.
      if (response.status === 400 || response.status === 422) return { ...NO_REPORT, state: "unsupported" };
      if (![202, 409].includes(response.status))
        throw new BackendError("failed", `the registry responds with ${response.status}`);
      return (await find(repository, digest)) ?? { ...NO_REPORT, state: "pending" };
    },
  };
}

const NO_REPORT = { scannedAt: null, databaseVersion: null, summary: null, vulnerabilities: null };

function parseReports(response: BackendResponse): Vulnerability[] {
  const [report] = Object.values(parseResponse(reportsSchema, response));
  return (report?.vulnerabilities ?? []).flatMap(({ id, fix_version, links, ...found }) =>
    toVulnerability({ ...found, id, fixVersion: fix_version, links: links ?? [] }),
  );
}
