import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as requestUpstream } from "node:https";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { StackInfo } from "../stack/stack-info.ts";

/** A request of the program behind the proxy. */
export interface Call {
  method: string;
  /** With its query. */
  path: string;
  userAgent: string;
  /** Of the API server's answer; 0 while there is none. */
  status: number;
}

/** What the program gets instead of the API server's answer. "hang": nothing, ever; "break": an end of the connection. */
export type Fault = "hang" | "break" | { status: number; headers?: Record<string, string>; body?: object };

export interface Hooks {
  /** Before the API server hears of it: a fault is the answer, and the API server never hears of it. */
  before?(call: Call): Fault | undefined;
  /** The API server has acted; a fault is what the program hears of it. Called for writes. */
  answered?(call: Call): Fault | undefined | Promise<Fault | undefined>;
  /** The program has got the whole answer. Called for writes. */
  heard?(call: Call): void;
  /** True: a line of a watch that the program never gets, while the stream stays open. */
  swallow?(call: Call): boolean;
}

/** An HTTPS proxy between one program and the API server, which sees every request and can spoil it. */
export interface ApiProxy {
  /** For the program: the stack's own, with the proxy's address. */
  kubeconfig: string;
  /** Every write that reached the API server, but those of the Lease, which are no work. */
  writes: Call[];
  /** Every read that reached the API server, watches too. */
  reads: Call[];
  /** Writes of the Lease that reached the API server. */
  leaseWrites: Call[];
  hooks: Hooks;
  /** Ends every connection, watches too. */
  cut(): void;
  close(): Promise<void>;
}

/** Lays a proxy before the API server of a stack. `name` tells its kubeconfig from others. */
export async function openApiProxy(stack: StackInfo, name: string): Promise<ApiProxy> {
  const dir = dirname(stack.kubeconfig);
  const read = (file: string) => readFileSync(join(dir, "certificates", file));
  const config = JSON.parse(readFileSync(stack.kubeconfig, "utf8"));
  const upstream = new URL(config.clusters[0].cluster.server);
  const agent = new Agent({
    keepAlive: true,
    ca: read("ca.crt"),
    cert: read("admin.crt"),
    key: read("admin.key"),
  });
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
  const isWork = method !== "GET" && !isLease;
  const body = await buffer(request);
  const refusal = proxy.hooks.before?.(call);
  if (refusal !== undefined) return answerFault(response, refusal);
  const answer = await forward(upstream, agent, request, response, body);
  call.status = answer.statusCode ?? 0;
  if (isWork) proxy.writes.push(call);
  else (method === "GET" ? proxy.reads : proxy.leaseWrites).push(call);
  if (path.includes("watch=true")) return relayWatch(proxy, call, answer, response);
  const whole = await buffer(answer);
  const loss = isWork ? await proxy.hooks.answered?.(call) : undefined;
  if (loss !== undefined) return answerFault(response, loss);
  response.writeHead(call.status, answer.headers);
  response.end(whole, () => isWork && proxy.hooks.heard?.(call));
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
  answer: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(call.status, answer.headers);
  response.flushHeaders();
  let rest = "";
  for await (const chunk of answer.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (proxy.hooks.swallow?.(call) !== true) response.write(`${line}\n`);
    }
  }
  response.end(rest);
}

function answerFault(response: ServerResponse, fault: Fault): void {
  if (fault === "break") response.destroy();
  else if (fault !== "hang") {
    const { status, headers = {}, body = {} } = fault;
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  }
}

/** What the API server says when it refuses for a while. */
export function refusalOf(code: number, reason: string): { status: number; body: object } {
  const body = {
    apiVersion: "v1",
    kind: "Status",
    status: "Failure",
    code,
    reason,
    message: "it is a fault",
  };
  return { status: code, body };
}
