import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as requestUpstream } from "node:https";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { readCredential } from "../testing/credentials.ts";

/** A request of the program behind the proxy. */
export interface Call {
  method: string;
  /** With its query. */
  path: string;
  userAgent: string;
  /** Status of the API server's response; 0 while there is none. */
  status: number;
}

/** What the program gets instead of the API server's response. "hang": nothing, ever; "break": a closed connection. */
export type Fault = "hang" | "break" | { status: number; headers?: Record<string, string>; body?: object };

export interface Hooks {
  /** Before the request is forwarded; after a fault it is not forwarded. */
  before?(call: Call): Fault | undefined | Promise<Fault | undefined>;
  /** For writes, before the response is forwarded; a fault replaces it. */
  afterWrite?(call: Call): Fault | undefined | Promise<Fault | undefined>;
  /** For writes, after the program has received the whole response. */
  delivered?(call: Call): void;
  /** Whether to drop this line of a watch; the stream stays open. */
  dropLine?(call: Call): boolean;
}

/** An HTTPS proxy between one program and the API server, which records every request and can inject faults. */
export interface ApiProxy {
  /** The program's kubeconfig with the proxy's address. */
  kubeconfig: string;
  /** Every write that reached the API server, without those of the Lease. */
  writes: Call[];
  /** Every read that reached the API server, including watches. */
  reads: Call[];
  /** Writes of the Lease that reached the API server. */
  leaseWrites: Call[];
  hooks: Hooks;
  /** Closes every connection, including watches. */
  cut(): void;
  close(): Promise<void>;
}

/** Opens a proxy in front of the API server of a stack. `name` names its kubeconfig. */
export async function openApiProxy(
  stack: StackInfo,
  name: string,
  program: "apiserver" | "operator" = "operator",
): Promise<ApiProxy> {
  const dir = dirname(stack.kubeconfig);
  const read = (file: string) => readFileSync(join(dir, "certificates", file));
  const config = JSON.parse(readFileSync(stack.programKubeconfigs[program], "utf8"));
  const upstream = new URL(config.clusters[0].cluster.server);
  const { ca, cert, key } = readCredential(JSON.stringify(config));
  const agent = new Agent({ keepAlive: true, ca, cert, key });
  const proxy: ApiProxy = {
    kubeconfig: join(dir, `${name}.kubeconfig`),
    writes: [],
    leaseWrites: [],
    reads: [],
    hooks: {},
    cut: () => server.closeAllConnections(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        agent.destroy();
      }),
  };
  const server = createServer({ cert: read("tls.crt"), key: read("tls.key") }, (request, response) => {
    serve(proxy, upstream, agent, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  config.clusters[0].cluster.server = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(proxy.kubeconfig, JSON.stringify(config), { mode: 0o600 });
  return proxy;
}

async function serve(
  proxy: ApiProxy,
  upstream: URL,
  agent: Agent,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "", url: path = "", headers } = request;
  const call: Call = { method, path, userAgent: headers["user-agent"] ?? "", status: 0 };
  const isLease = path.includes("/leases");
  const isRecordedWrite = method !== "GET" && !isLease;
  const body = await buffer(request);
  const refusal = await proxy.hooks.before?.(call);
  if (refusal !== undefined) return sendFault(response, refusal);
  const upstreamResponse = await forward(upstream, agent, request, response, body);
  call.status = upstreamResponse.statusCode ?? 0;
  if (isRecordedWrite) proxy.writes.push(call);
  else (method === "GET" ? proxy.reads : proxy.leaseWrites).push(call);
  if (path.includes("watch=true")) return relayWatch(proxy, call, upstreamResponse, response);
  const whole = await buffer(upstreamResponse);
  const lost = isRecordedWrite ? await proxy.hooks.afterWrite?.(call) : undefined;
  if (lost !== undefined) return sendFault(response, lost);
  response.writeHead(call.status, upstreamResponse.headers);
  response.end(whole, () => isRecordedWrite && proxy.hooks.delivered?.(call));
}

function forward(
  upstream: URL,
  agent: Agent,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
): Promise<IncomingMessage> {
  const { hostname, port } = upstream;
  const { method, url: path, headers } = request;
  return new Promise((resolve, reject) => {
    const call = requestUpstream({ agent, hostname, port, method, path, headers }, resolve);
    call.once("error", reject);
    response.once("close", () => call.destroy());
    call.end(body);
  });
}

async function relayWatch(
  proxy: ApiProxy,
  call: Call,
  upstreamResponse: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(call.status, upstreamResponse.headers);
  response.flushHeaders();
  let partial = "";
  for await (const chunk of upstreamResponse.setEncoding("utf8")) {
    const lines = (partial + chunk).split("\n");
    partial = lines.pop() ?? "";
    for (const line of lines) {
      if (proxy.hooks.dropLine?.(call) !== true) response.write(`${line}\n`);
    }
  }
  response.end(partial);
}

function sendFault(response: ServerResponse, fault: Fault): void {
  if (fault === "break") response.destroy();
  else if (fault !== "hang") {
    const { status, headers = {}, body = {} } = fault;
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  }
}

/** A temporary refusal of the API server. */
export function refusalOf(code: number, reason: string): { status: number; body: object } {
  const body = {
    apiVersion: "v1",
    kind: "Status",
    status: "Failure",
    code,
    reason,
    message: "injected fault",
  };
  return { status: code, body };
}
