import { createHash } from "node:crypto";
import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { Agent, type AgentOptions, request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";

/** A Kubernetes object of any kind, as in a manifest. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  [field: string]: unknown;
}

/** The address of a Kubernetes API, and the credentials for it. */
export interface KubeTarget {
  server: string;
  tls: AgentOptions & { headers?: OutgoingHttpHeaders };
}

export interface KubeResponse {
  status: number;
  body: Record<string, unknown>;
}

export interface KubeApi {
  /** Returns any response, including errors; rejects only without a response within 60 s. */
  request(method: string, path: string, body?: object, contentType?: string): Promise<KubeResponse>;
  /** Server-side apply with force; an object whose last applied text is the same is skipped. */
  apply(manifests: readonly Manifest[]): Promise<void>;
  /** Waits until each CustomResourceDefinition is served. */
  waitEstablished(names: readonly string[], timeoutMs: number): Promise<void>;
  close(): void;
}

const FIELD_MANAGER = "marina-stack";
const HASH_ANNOTATION = "stack.marina.dev/hash";
const REQUEST_TIMEOUT_MS = 60_000;

/** The name of a kind in paths. */
export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (lower.endsWith("s")) return `${lower}es`;
  return lower.endsWith("y") ? `${lower.slice(0, -1)}ies` : `${lower}s`;
}

/** The collection that an object belongs to, for example /api/v1/namespaces/default/configmaps. */
export function collectionPathOf(manifest: Manifest): string {
  const root = manifest.apiVersion.includes("/")
    ? `/apis/${manifest.apiVersion}`
    : `/api/${manifest.apiVersion}`;
  const { namespace } = manifest.metadata;
  return `${root}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${pluralOf(manifest.kind)}`;
}

function hashOf(manifest: Manifest): string {
  return createHash("sha256").update(JSON.stringify(manifest)).digest("hex").slice(0, 16);
}

interface Outgoing {
  method: string;
  path: string;
  headers: OutgoingHttpHeaders;
  body: string | undefined;
}

function send(
  target: KubeTarget,
  agent: Agent,
  { method, path, headers, body }: Outgoing,
): Promise<KubeResponse> {
  const isHttps = target.server.startsWith("https:");
  const options = {
    ...(isHttps ? { agent } : {}),
    method,
    headers: { ...target.tls.headers, ...headers },
    timeout: REQUEST_TIMEOUT_MS,
  };
  return new Promise((resolve, reject) => {
    const url = `${target.server.replace(/\/$/, "")}${path}`;
    const outgoing = (isHttps ? httpsRequest : httpRequest)(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const isJson = response.headers["content-type"]?.includes("json") === true;
        resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(text) : { message: text } });
      });
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no response from ${target.server}`)));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function readHash(request: KubeApi["request"], path: string): Promise<string | undefined> {
  const { body } = await request("GET", path);
  const metadata = body.metadata as { annotations?: Record<string, string> } | undefined;
  return metadata?.annotations?.[HASH_ANNOTATION];
}

async function applyOne(request: KubeApi["request"], manifest: Manifest): Promise<void> {
  const path = `${collectionPathOf(manifest)}/${manifest.metadata.name}`;
  const hash = hashOf(manifest);
  if ((await readHash(request, path)) === hash) return;
  const annotations = { ...manifest.metadata.annotations, [HASH_ANNOTATION]: hash };
  const response = await request(
    "PATCH",
    `${path}?fieldManager=${FIELD_MANAGER}&force=true`,
    { ...manifest, metadata: { ...manifest.metadata, annotations } },
    "application/apply-patch+yaml",
  );
  if (response.status >= 300) {
    throw new Error(
      `${manifest.kind} ${manifest.metadata.name} was refused: ${String(response.body.message)}`,
    );
  }
}

function isEstablished(response: KubeResponse): boolean {
  const status = response.body.status as { conditions?: { type: string; status: string }[] } | undefined;
  return status?.conditions?.some((one) => one.type === "Established" && one.status === "True") ?? false;
}

/** A minimal client for the stack itself. */
export function createKubeApi(target: KubeTarget): KubeApi {
  const { headers: _headers, ...tls } = target.tls;
  const agent = new Agent({ ...tls, keepAlive: true, maxSockets: 8 });
  const request: KubeApi["request"] = (method, path, body, contentType = "application/json") =>
    send(target, agent, {
      method,
      path,
      headers: { accept: "application/json", ...(body && { "content-type": contentType }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  return {
    request,
    apply: async (manifests) => {
      await Promise.all(manifests.map((manifest) => applyOne(request, manifest)));
    },
    async waitEstablished(names, timeoutMs) {
      const deadline = Date.now() + timeoutMs;
      for (const name of names) {
        const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
        while (!isEstablished(await request("GET", path))) {
          if (Date.now() > deadline) throw new Error(`the custom resource ${name} is not served`);
          await sleep(100);
        }
      }
    },
    close: () => agent.destroy(),
  };
}
