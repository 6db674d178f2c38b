import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { REPORT_TYPE } from "./harbor.ts";

/** A vulnerability in a report of Harbor. */
export type HarborVulnerability = Record<string, string | string[]>;

interface Repository {
  manifests: Map<string, { content: Buffer; type: string }>;
  tags: Map<string, string>;
}

/** The state of a server in place of Harbor. */
export interface TestHarbor {
  url: string;
  projects: Map<string, Record<string, unknown>>;
  /** By digest. */
  scans: Map<string, { status: string; endTime?: string; vulnerabilities?: readonly HarborVulnerability[] }>;
  /** What the scanner does not support, by digest. */
  unsupported: Set<string>;
  /** Responds to each deletion, and each request for a scan or its report; `respond` does what is requested. */
  intercept: (respond: () => Promise<Answer>) => Promise<Answer>;
  close: () => Promise<void>;
}

export const ROBOT = { username: "robot$marina", password: "secret" };
const BASIC = `Basic ${Buffer.from(`${ROBOT.username}:${ROBOT.password}`).toString("base64")}`;

/**
 * A server that responds as Harbor 2 documents it, as far as the adapter asks: projects, repositories in pages,
 * deletion of tags, scans, tokens, and the distribution specification. Written from its documentation, for Harbor
 * itself cannot run here.
 */
export async function startTestHarbor(): Promise<TestHarbor> {
  const projects: TestHarbor["projects"] = new Map();
  const scans: TestHarbor["scans"] = new Map();
  const unsupported = new Set<string>();
  const repositories = new Map<string, Repository>();
  const blobs = new Map<string, Buffer>();
  const tokens = new Map<string, string[]>();

  const answers: [RegExp, (request: Call) => Answer | Promise<Answer>][] = [
    [/^GET \/service\/token$/, issueToken],
    [
      /^HEAD \/api\/v2\.0\/projects$/,
      ({ query }) => [projects.has(query.get("project_name") ?? "") ? 200 : 404],
    ],
    [/^POST \/api\/v2\.0\/projects$/, createProject],
    [
      /^GET \/api\/v2\.0\/projects$/,
      ({ query }) => [
        200,
        pageOf(
          [...projects.keys()].filter((name) => name.includes(query.get("name") ?? "")),
          query,
        ),
      ],
    ],
    [/^GET \/api\/v2\.0\/projects\/([^/]+)\/repositories$/, listRepositories],
    [
      /^(?:GET|POST|DELETE) \/api\/v2\.0\/projects\/([^/]+)\/repositories\/([^/]+)\/artifacts\/([^/]+)(.*)$/,
      answerArtifact,
    ],
    [/^(?:POST|PUT) \/v2\/(.+)\/blobs\/uploads\/.*$/, upload],
    [
      /^HEAD \/v2\/(.+)\/blobs\/([^/]+)$/,
      ({ parts: [, digest = ""] }) => {
        const blob = blobs.get(decodeURIComponent(digest));
        return blob === undefined ? [404] : [200, blob];
      },
    ],
    [/^(?:HEAD|GET|PUT|DELETE) \/v2\/(.+)\/manifests\/([^/]+)$/, answerManifest],
    [/^GET \/v2\/(.+)\/tags\/list$/, listTags],
  ];

  function issueToken({ query, authorization }: Call): Answer {
    if (authorization !== BASIC || query.get("service") !== "harbor-registry") return [401];
    const token = randomUUID();
    tokens.set(token, query.getAll("scope"));
    return [200, { token, expires_in: 300, issued_at: new Date().toISOString() }];
  }

  function createProject({ body }: Call): Answer {
    const project = JSON.parse(body.toString());
    if (projects.has(project.project_name)) return [409];
    projects.set(project.project_name, project);
    return [201];
  }

  function listRepositories({ parts: [project = ""], query }: Call): Answer {
    // A project that is not there is forbidden, as for everybody who may not see it.
    if (!projects.has(project)) return [403];
    const names = [...repositories].filter(([name]) => name.startsWith(`${project}/`)).map(([name]) => name);
    return [200, pageOf(names.reverse(), query)];
  }

  async function answerArtifact({
    method,
    parts: [project, escaped = "", reference = "", rest = ""],
    accepts,
  }: Call): Promise<Answer> {
    const once = decodeURIComponent(escaped);
    // A slash that is escaped once divides the path.
    if (once.includes("/")) return [404];
    const repository = repositories.get(`${project}/${decodeURIComponent(once)}`);
    const decoded = decodeURIComponent(reference);
    const digest = repository?.tags.get(decoded) ?? decoded;
    if (repository?.manifests.get(digest) === undefined) return [404];
    if (method === "DELETE" && rest === `/tags/${reference}`)
      return [repository.tags.delete(decoded) ? 200 : 404];
    const scan = scans.get(digest);
    if (method === "POST") {
      if (unsupported.has(digest)) return [422];
      if (scan?.status === "Running" || scan?.status === "Pending") return [409];
      scans.set(digest, { status: "Pending" });
      return [202];
    }
    if (rest === "/additions/vulnerabilities")
      return [
        200,
        accepts === REPORT_TYPE ? { [REPORT_TYPE]: { vulnerabilities: scan?.vulnerabilities ?? null } } : {},
      ];
    const overview = {
      scan_status: scan?.status,
      end_time: scan?.endTime ?? "2026-05-01T12:00:00.000Z",
      scanner: { name: "Trivy", version: "v0.65.0" },
    };
    return [200, { digest, ...(scan && { scan_overview: { [REPORT_TYPE]: overview } }) }];
  }

  function upload({ method, parts: [name = ""], query, body }: Call): Answer {
    if (!projects.has(name.split("/")[0] ?? "")) return [404];
    if (method === "POST")
      return [202, undefined, { location: `/v2/${name}/blobs/uploads/${randomUUID()}?state=1` }];
    blobs.set(query.get("digest") ?? "", body);
    return [201];
  }

  function answerManifest({ method, parts: [name = "", reference = ""], body, type }: Call): Answer {
    const decoded = decodeURIComponent(reference);
    if (method === "PUT") {
      const repository = repositories.get(name) ?? { manifests: new Map(), tags: new Map() };
      repositories.set(name, repository);
      const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
      repository.manifests.set(digest, { content: body, type });
      repository.tags.set(decoded, digest);
      return [201];
    }
    const repository = repositories.get(name);
    const digest = repository?.tags.get(decoded) ?? decoded;
    const manifest = repository?.manifests.get(digest);
    if (method === "DELETE" && !decoded.startsWith("sha256:")) return [405];
    if (repository === undefined || manifest === undefined) return [404];
    if (method !== "DELETE")
      return [200, manifest.content, { "docker-content-digest": digest, "content-type": manifest.type }];
    repository.manifests.delete(digest);
    for (const [tag, named] of repository.tags) if (named === digest) repository.tags.delete(tag);
    return [202];
  }

  function listTags({ parts: [name = ""], query }: Call): Answer {
    const repository = repositories.get(name);
    if (repository === undefined) return [404];
    const tags = [...repository.tags.keys()].sort().filter((tag) => tag > (query.get("last") ?? ""));
    return [200, { name, tags: tags.slice(0, Number(query.get("n"))) }];
  }

  /** Basic for the robot, else a token with a scope of this repository and action. */
  function isAllowed({ method, authorization, path }: Call): boolean {
    if (authorization === BASIC) return true;
    const [, name] = /^\/v2\/(.+)\/(?:blobs|manifests|tags)\//.exec(path) ?? [];
    const action = ["POST", "PUT"].includes(method) ? "push" : "pull";
    const scopes = tokens.get(authorization.replace("Bearer ", "")) ?? [];
    return scopes.some((scope) => {
      const [, repository, actions] = /^repository:(.+):([^:]+)$/.exec(scope) ?? [];
      return repository === name && actions?.split(",").includes(action);
    });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await readCall(request);
    const make = async () => (isAllowed(call) ? respond(call) : ([401] as Answer));
    const isIntercepted = call.method === "DELETE" || /\/(?:scan|vulnerabilities)$/.test(call.path);
    const [status, content, headers = {}] = await (isIntercepted ? harbor.intercept(make) : make());
    const body = Buffer.isBuffer(content)
      ? content
      : Buffer.from(content === undefined ? "" : JSON.stringify(content));
    response.writeHead(status, { "content-length": body.length, ...headers });
    response.end(call.method === "HEAD" ? undefined : body);
  }

  async function respond(call: Call): Promise<Answer> {
    for (const [pattern, handle] of answers) {
      const parts = pattern.exec(`${call.method} ${call.path}`)?.slice(1);
      if (parts !== undefined) return handle({ ...call, parts });
    }
    return [404];
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const harbor: TestHarbor = { url, projects, scans, unsupported, intercept: (respond) => respond(), close };
  return harbor;
}

/** Pushes an image of an organization with the robot account; returns its digest. */
export async function pushToHarbor({ url, projects }: TestHarbor, orgId: string): Promise<string> {
  projects.set(`org-${orgId}`, {});
  const type = "application/vnd.oci.image.manifest.v1+json";
  const body = JSON.stringify({ schemaVersion: 2, mediaType: type, annotations: { orgId } });
  const headers = { authorization: BASIC, "content-type": type };
  await fetch(`${url}/v2/org-${orgId}/web/manifests/1`, { method: "PUT", headers, body });
  return `sha256:${createHash("sha256").update(body).digest("hex")}`;
}

interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  authorization: string;
  accepts: string;
  type: string;
  body: Buffer;
  parts: string[];
}

type Answer = [status: number, content?: unknown, headers?: Record<string, string>];

async function readCall(request: IncomingMessage): Promise<Call> {
  const { pathname, searchParams } = new URL(request.url ?? "", "http://harbor");
  return {
    method: request.method ?? "",
    path: pathname,
    query: searchParams,
    authorization: request.headers.authorization ?? "",
    accepts: String(request.headers["x-accept-vulnerabilities"] ?? ""),
    type: request.headers["content-type"] ?? "",
    body: await buffer(request),
    parts: [],
  };
}

function pageOf(names: readonly string[], query: URLSearchParams): { name: string }[] {
  const [page, size] = [Number(query.get("page")), Number(query.get("page_size"))];
  return names.slice((page - 1) * size, page * size).map((name) => ({ name }));
}
