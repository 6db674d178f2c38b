import { z } from "zod";
import type { HarborConfig } from "../config.ts";
import type { RegistryClaims } from "../tokens/sign.ts";
import type { IssuedToken, RegistryBackend } from "./backend.ts";
import { type CallArtifact, createHarborScans, REPORT_TYPE } from "./harbor-scans.ts";
import { type BackendRequest, createBackendSender } from "./http.ts";
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
export function createHarbor(
  config: Pick<HarborConfig, "url" | "username" | "password" | "limits">,
): RegistryBackend {
  const authorization = `Basic ${Buffer.from(`${config.username}:${config.password}`).toString("base64")}`;
  const send = createBackendSender(TIMEOUT_MS, MAX_RESPONSE_BYTES);
  const knownProjects = new Set<string>();

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
