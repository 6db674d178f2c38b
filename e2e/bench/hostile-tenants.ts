import { connect as connectSocket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Dispatcher, Pool } from "undici";
import type { Stack } from "../platform/stack/stack.ts";
import { readStackCpuSeconds } from "./proc.ts";
import type { Figure } from "./report.ts";

/** Who a kind of requests is sent as: a tenant with an organization of its own, behind an address of its own. */
export interface HostileTenant {
  apiUrl: string;
  /** An API token of its organization. */
  token: string;
  /** A user's, to be altered. */
  userToken: string;
  orgId: string;
  /** The path of a cluster of its own. */
  cluster: string;
  /** For X-Forwarded-For. */
  address: string;
}

/** A kind of hostile requests. */
export interface HostileKind {
  name: string;
  /** Sends the n-th request; the status, or 0 when no response was waited for. */
  send(n: number): Promise<number>;
  /** Closes its connections: what waits for a response is given up. */
  release(): void;
  close(): Promise<void>;
}

/** That many connections of a kind are open at once; the oldest is closed for a new one. */
const HELD_CONNECTIONS = 60;
const COSTED_REQUESTS = 60;
const POOL = { vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
// Bodies are made once: made for each request they would delay what this process measures beside them.
const DRY_RUN = JSON.stringify({
  name: "flood",
  k8s_version: "1.34",
  node_pools: Array.from({ length: 50 }, (_, n) => ({ name: `pool-${n}`, ...POOL })),
});
/** Within the limit of a body, so that it is parsed and validated. */
const LARGE = JSON.stringify({ name: "large", labels: Array.from({ length: 25_000 }, () => "xxxxxxx") });

const KINDS: readonly ((tenant: HostileTenant) => HostileKind)[] = [
  (tenant) =>
    ofConnections("bodies that never end", tenant, () => ({
      head: `POST /api/v1/organizations/${tenant.orgId}/clusters`,
      headers: ["content-type: application/json", "transfer-encoding: chunked"],
      rest: `${(32_768).toString(16)}\r\n${"x".repeat(32_768)}\r\n`,
    })),
  (tenant) =>
    ofConnections("responses that are not read", tenant, () => ({
      head: "GET /openapi.json",
      isUnread: true,
    })),
  (tenant) =>
    ofConnections("streams that are not read", tenant, () => ({
      head: `GET ${tenant.cluster}/system-events`,
      headers: ["accept: text/event-stream"],
      isUnread: true,
    })),
  (tenant) =>
    ofRequests("forged tokens", tenant, (n) => ({
      method: "GET",
      path: "/api/v1/organizations",
      headers: { authorization: `Bearer ${tenant.userToken.slice(0, -8)}${String(n).padStart(8, "A")}` },
    })),
  (tenant) =>
    ofRequests("searches without a credential", tenant, (n) => ({
      method: "GET",
      path: `/docs?q=cluster+${n}`,
      headers: { authorization: "" },
    })),
  (tenant) =>
    ofRequests("dry runs of 50 node pools", tenant, () => ({
      method: "POST",
      path: `/api/v1/organizations/${tenant.orgId}/clusters?dry_run=true`,
      body: DRY_RUN,
    })),
  (tenant) =>
    ofRequests("large bodies that are refused", tenant, () => ({
      method: "POST",
      path: `/api/v1/organizations/${tenant.orgId}/clusters`,
      body: LARGE,
    })),
  (tenant) =>
    ofRequests("tickets without end", tenant, (n) => ({
      method: "POST",
      path: `/api/v1/organizations/${tenant.orgId}/tickets`,
      body: JSON.stringify({
        subject: `Ticket ${n}`,
        body: "x".repeat(10_000),
        category: "cluster",
        severity: "low",
      }),
    })),
];

export const HOSTILE_KINDS = KINDS.length;

/** One of each kind; `tenants` has as many. */
export function createHostileKinds(tenants: readonly HostileTenant[]): HostileKind[] {
  return tenants.flatMap((tenant, index) => KINDS[index]?.(tenant) ?? []);
}

/** A tenant that reads, and now and then writes. */
export function createWellBehaved(tenant: HostileTenant): HostileKind {
  const path = `/api/v1/organizations/${tenant.orgId}`;
  return ofRequests("well-behaved", tenant, (n) =>
    n % 4 === 0
      ? { method: "PUT", path, body: JSON.stringify({ name: `Behaved ${n}` }) }
      : { method: "GET", path },
  );
}

type Sent = Pick<Dispatcher.RequestOptions, "method" | "path"> & {
  headers?: Record<string, string>;
  body?: string;
};

function ofRequests(name: string, tenant: HostileTenant, toRequest: (n: number) => Sent): HostileKind {
  const connect = () => new Pool(tenant.apiUrl, { connections: 16 });
  let pool = connect();
  return {
    name,
    async send(n) {
      const { headers, ...request } = toRequest(n);
      const usual = {
        authorization: `Bearer ${tenant.token}`,
        "content-type": "application/json",
        "x-forwarded-for": tenant.address,
      };
      const { statusCode, body } = await pool.request({ ...request, headers: { ...usual, ...headers } });
      await body.dump();
      return statusCode;
    },
    release() {
      void pool.destroy();
      pool = connect();
    },
    close: () => pool.destroy(),
  };
}

interface HeldRequest {
  head: string;
  headers?: string[];
  rest?: string;
  isUnread?: boolean;
}

/** Each request on a connection of its own, which is held for as long as there is room. */
function ofConnections(name: string, tenant: HostileTenant, toRequest: () => HeldRequest): HostileKind {
  const { hostname, port } = new URL(tenant.apiUrl);
  const held: ReturnType<typeof connectSocket>[] = [];
  return {
    name,
    async send() {
      const { head, headers = [], rest = "", isUnread = false } = toRequest();
      const usual = [
        "host: bench",
        `authorization: Bearer ${tenant.token}`,
        `x-forwarded-for: ${tenant.address}`,
      ];
      const socket = connectSocket({ host: hostname, port: Number(port) });
      // The server may close it at any time.
      socket.on("error", () => undefined);
      if (isUnread) socket.pause();
      else socket.resume();
      const { promise, resolve } = Promise.withResolvers<void>();
      socket.write(`${head} HTTP/1.1\r\n${[...usual, ...headers].join("\r\n")}\r\n\r\n${rest}`, () =>
        resolve(),
      );
      socket.once("close", () => resolve());
      await promise;
      held.push(socket);
      if (held.length > HELD_CONNECTIONS) held.shift()?.destroy();
      return 0;
    },
    release() {
      for (const socket of held.splice(0)) socket.destroy();
    },
    async close() {
      this.release();
    },
  };
}

/** Processor time of the API server, and of the whole stack, for a request of each kind, one kind after the other. */
export async function measureCosts(stack: Stack, kinds: readonly HostileKind[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const kind of kinds) {
    const before = readStackCpuSeconds(stack);
    const statuses = new Set<number>();
    for (let n = 0; n < COSTED_REQUESTS; n++) statuses.add(await kind.send(n));
    // What was sent without a response is processed meanwhile.
    await sleep(1000);
    const after = readStackCpuSeconds(stack);
    const used = [...after].map(([name, seconds]) => [name, seconds - (before.get(name) ?? 0)] as const);
    const msOf = (parts: typeof used) =>
      (parts.reduce((sum, [, seconds]) => sum + seconds, 0) / COSTED_REQUESTS) * 1000;
    const name = `${kind.name} (${[...statuses].join(", ")}): processor time of one`;
    const own = used.filter(([part]) => part === "apiserver");
    figures.push(
      { name: `${name}, API server`, value: msOf(own), unit: "ms" },
      { name: `${name}, all programs`, value: msOf(used), unit: "ms" },
    );
  }
  return figures;
}
