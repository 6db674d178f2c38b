import { readFileSync } from "node:fs";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { createTransport, type Transport } from "../../../shared/kube/transport.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import { filesOf, idOf, type Tenant } from "./tenant.ts";

export interface Readiness {
  ready: boolean;
  /** Why not; "" when ready. */
  because: string;
}

/** The provider's own access to the tenants' APIs, without the front. */
export interface TenantApis {
  client(tenant: Tenant, port: number): KubeClient;
  /** Never rejects; takes 2 s at most. */
  probe(tenant: Tenant, port: number): Promise<Readiness>;
  /** Result of the last probe; undefined before the first. */
  isReady(tenant: Tenant): boolean | undefined;
  /** Records without a probe that it is not running, or is about to stop. */
  noteNotReady(tenant: Tenant): void;
  /** Milliseconds since the last successful probe; undefined without one. */
  lastReadyMs(tenant: Tenant): number | undefined;
  /** Closes the connections. */
  forget(tenant: Tenant): Promise<void>;
}

const PROBE_TIMEOUT_MS = 2000;

/** `onChange`: the readiness of a tenant has changed. */
export function createTenantApis(runDir: string, onChange: (tenant: Tenant) => void): TenantApis {
  const transports = new Map<string, { openedWith: string; transport: Transport }>();
  const readyAt = new Map<string, number>();
  const readyNow = new Map<string, boolean>();

  function note(tenant: Tenant, ready: boolean): void {
    if (ready) readyAt.set(idOf(tenant), performance.now());
    if (readyNow.get(idOf(tenant)) === ready) return;
    readyNow.set(idOf(tenant), ready);
    onChange(tenant);
  }

  function open(tenant: Tenant, port: number): Transport {
    const files = filesOf(runDir, tenant);
    const cert = readFileSync(files.path("provider.crt"), "utf8");
    const openedWith = `${port} ${cert}`;
    const known = transports.get(idOf(tenant));
    if (known?.openedWith === openedWith) return known.transport;
    void known?.transport.close();
    const key = readFileSync(files.path("provider.key"), "utf8");
    const ca = readFileSync(files.path("ca.crt"), "utf8");
    const transport = createTransport({
      connection: { server: `https://127.0.0.1:${port}`, ca, cert, key },
      userAgent: "marina-local-provider",
      timeoutMs: 5000,
    });
    transports.set(idOf(tenant), { openedWith, transport });
    return transport;
  }

  async function ask(tenant: Tenant, port: number): Promise<Readiness> {
    try {
      const request = { method: "GET", path: "/readyz", timeoutMs: PROBE_TIMEOUT_MS } as const;
      const { status } = await open(tenant, port).request(request);
      return { ready: status === 200, because: status === 200 ? "" : `/readyz answers ${status}` };
    } catch (error) {
      return { ready: false, because: messageOf(error) };
    }
  }

  return {
    client: (tenant, port) => createClient(open(tenant, port)),
    async probe(tenant, port) {
      const readiness = await ask(tenant, port);
      note(tenant, readiness.ready);
      return readiness;
    },
    isReady: (tenant) => readyNow.get(idOf(tenant)),
    noteNotReady: (tenant) => note(tenant, false),
    lastReadyMs(tenant) {
      const at = readyAt.get(idOf(tenant));
      return at === undefined ? undefined : performance.now() - at;
    },
    async forget(tenant) {
      const known = transports.get(idOf(tenant));
      transports.delete(idOf(tenant));
      readyAt.delete(idOf(tenant));
      readyNow.delete(idOf(tenant));
      await known?.transport.close();
    },
  };
}
