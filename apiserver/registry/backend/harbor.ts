import { z } from "zod";
import type { HarborConfig } from "../config.ts";
import {
  mergeReport,
  type ScanState,
  type ScanVersion,
  toVulnerability,
  type Vulnerability,
} from "../report.ts";
import type { RegistryClaims } from "../tokens/sign.ts";
import { BackendError, type IssuedToken, type OwnScans, type RegistryBackend } from "./backend.ts";
import {
  type BackendRequest,
  type BackendResponse,
  createBackendSender,
  type SendToBackend,
  sendUntil,
} from "./http.ts";
import {
  type CallOci,
  createCallOci,
  createOciMethods,
  parseResponse,
  requireAvailable,
  requireStatus,
} from "./oci.ts";

const API = "/api/v2.0";
/** The audience of Harbor's tokens. */
const SERVICE = "harbor-registry";
/** Entries per list request; Harbor's limit. */
const PAGE_SIZE = 100;
const TIMEOUT_MS = 10_000;
/** A report of some 50,000 vulnerabilities. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const UNLIMITED = -1;

const namesSchema = z.array(z.object({ name: z.string() }));
const tokenSchema = z.object({ token: z.string().min(1), expires_in: z.int().min(1).default(60) });

/**
 * Harbor 2, by its API 2.0 and the OCI distribution specification. Each organization has its own private project,
 * created by the first push to it. Tokens are Harbor's own: its robot account asks for exactly the given rights.
 */
export function createHarbor(config: HarborConnection): RegistryBackend {
  return connect(config, createBackendSender(TIMEOUT_MS, MAX_RESPONSE_BYTES), new Set());
}

type HarborConnection = Pick<HarborConfig, "url" | "username" | "password" | "limits">;

/** A Harbor to which `send` sends, and in which these projects were seen. */
function connect(config: HarborConnection, send: SendToBackend, knownProjects: Set<string>): RegistryBackend {
  const authorization = `Basic ${Buffer.from(`${config.username}:${config.password}`).toString("base64")}`;

  const call = async (method: BackendRequest["method"], path: string, body?: object) => {
    const headers = {
      authorization,
      accept: "application/json",
      "x-accept-vulnerabilities": REPORT_TYPE,
      ...(body && { "content-type": "application/json" }),
    };
    const response = await send({
      method,
      url: `${config.url}${path}`,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    requireAvailable(response);
    return response;
  };

  async function hasProject(project: string): Promise<boolean> {
    if (knownProjects.has(project)) return true;
    const response = await call("HEAD", `${API}/projects?project_name=${encodeURIComponent(project)}`);
    if (response.status === 404) return false;
    requireStatus(response, 200);
    knownProjects.add(project);
    return true;
  }

  async function ensureProject(project: string): Promise<void> {
    if (await hasProject(project)) return;
    const { sizeGiB } = config.limits;
    const response = await call("POST", `${API}/projects`, {
      project_name: project,
      metadata: { public: "false", auto_scan: "true" },
      storage_limit: sizeGiB === undefined ? UNLIMITED : sizeGiB * 1024 ** 3,
    });
    // 409: another process has just made it.
    if (response.status !== 409) requireStatus(response, 201);
  }

  async function listAll(path: string, query: Record<string, string> = {}): Promise<string[]> {
    const names: string[] = [];
    for (let page = 1; ; page++) {
      const parameters = new URLSearchParams({ ...query, page: String(page), page_size: String(PAGE_SIZE) });
      const response = await call("GET", `${path}?${parameters.toString()}`);
      requireStatus(response, 200);
      const listed = parseResponse(namesSchema, response);
      names.push(...listed.map(({ name }) => name));
      if (listed.length < PAGE_SIZE) return names;
    }
  }

  const callArtifact: CallArtifact = (method, { repository, reference }, path, body) => {
    const { project, name } = splitRepository(repository);
    // A name with slashes is one segment of the path, which Harbor unescapes twice.
    const segments = [project, "repositories", encodeURIComponent(name), "artifacts", reference];
    return call(method, `${API}/projects/${segments.map(encodeURIComponent).join("/")}${path}`, body);
  };
  const callRegistry = createCallOci({ url: config.url, send, authorize: async () => authorization });
  // Harbor may refuse what is asked of a project that is not there.
  const callOci: CallOci = async (method, path, access) =>
    (await hasProject(splitRepository(access.name).project))
      ? callRegistry(method, path, access)
      : { status: 404, headers: {}, text: "" };

  return {
    ...createOciMethods(callOci),
    endingWith: (signal) => connect(config, sendUntil(signal, send), knownProjects),
    async listRepositories(prefix, { after = "", limit }) {
      const projects = prefix.endsWith("/")
        ? [prefix.slice(0, -1)]
        : (await listAll(`${API}/projects`, { name: prefix, with_detail: "false" })).filter((name) =>
            name.startsWith(prefix),
          );
      const names: string[] = [];
      for (const project of projects.sort()) {
        if (project < splitRepository(after).project || !(await hasProject(project))) continue;
        const listed = await listAll(`${API}/projects/${encodeURIComponent(project)}/repositories`);
        names.push(...listed.filter((name) => name > after).sort());
        if (names.length >= limit) break;
      }
      return names.slice(0, limit);
    },
    async deleteTag(repository, tag) {
      if (!(await hasProject(splitRepository(repository).project))) return false;
      const path = `/tags/${encodeURIComponent(tag)}`;
      const response = await callArtifact("DELETE", { repository, reference: tag }, path);
      if (response.status === 404) return false;
      requireStatus(response, 200);
      return true;
    },
    async issueToken({ access }: RegistryClaims): Promise<IssuedToken> {
      for (const { name, actions } of access)
        if (actions.includes("push")) await ensureProject(splitRepository(name).project);
      const query = new URLSearchParams({ service: SERVICE });
      for (const { type, name, actions } of access)
        query.append("scope", `${type}:${name}:${actions.join(",")}`);
      const response = await call("GET", `/service/token?${query.toString()}`);
      requireStatus(response, 200);
      const { token, expires_in } = parseResponse(tokenSchema, response);
      return { token, lifeSeconds: expires_in };
    },
    ownScans: createHarborScans(callArtifact),
  };
}

function splitRepository(repository: string): { project: string; name: string } {
  const [project = "", ...name] = repository.split("/");
  return { project, name: name.join("/") };
}

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
type CallArtifact = (
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
  const findVersion = async (repository: string, digest: string): Promise<ScanVersion | undefined> => {
    const overview = await findOverview(repository, digest);
    if (overview === undefined) return undefined;
    const state = STATES[overview.scan_status] ?? "error";
    if (state !== "success") return { scannedAt: null, databaseVersion: null, state };
    const { scanner, end_time } = overview;
    const databaseVersion = scanner === undefined ? null : `${scanner.name} ${scanner.version}`;
    return { state, scannedAt: end_time ?? null, databaseVersion };
  };
  return {
    findVersion,
    async find(repository, digest) {
      const version = await findVersion(repository, digest);
      if (version === undefined) return undefined;
      if (version.state !== "success") return { ...version, summary: null, vulnerabilities: null };
      const artifact = { repository, reference: digest };
      const reports = await call("GET", artifact, "/additions/vulnerabilities");
      requireStatus(reports, 200);
      return { ...version, ...mergeReport(parseReports(reports)) };
    },
    async request(repository, digest) {
      const response = await call("POST", { repository, reference: digest }, "/scan", {
        scan_type: "vulnerability",
      });
      // 409: a scan runs. 400 and 422: an artifact that the scanner does not support.
      if (response.status === 400 || response.status === 422) return "unsupported";
      if (![202, 409].includes(response.status))
        throw new BackendError("failed", `the registry responds with ${response.status}`);
      return (await findVersion(repository, digest))?.state ?? "pending";
    },
  };
}

function parseReports(response: BackendResponse): Vulnerability[] {
  const [report] = Object.values(parseResponse(reportsSchema, response));
  return (report?.vulnerabilities ?? []).flatMap(({ id, fix_version, links, ...found }) =>
    toVulnerability({ ...found, id, fixVersion: fix_version, links: links ?? [] }),
  );
}
