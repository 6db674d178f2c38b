import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isPortFree } from "../programs/free-port.ts";
import { filesOf, idOf, type Tenant } from "./tenant.ts";

/** Ports of the tenants: the public ones, kept in the LocalCluster's spec, and those of the kube-apiservers. */
export interface TenantPorts {
  /** A free port that is not reserved for another tenant; undefined when there is none. */
  pick(): Promise<number | undefined>;
  /** The tenant's kube-apiserver port, chosen at the first call and kept in its folder. */
  ensureApiserverPort(tenant: Tenant): Promise<number>;
  /** Chooses another port, because another program uses this one. */
  moveApiserverPort(tenant: Tenant): Promise<void>;
  forget(tenant: Tenant): void;
}

// Above the in-memory provider's 20000-30000, below the ephemeral ports of Linux (32768 and up).
const FIRST_PORT = 30_100;
const LAST_PORT = 32_700;

/** `isTaken`: whether a Kubernetes object holds the port, even when nothing listens on it. */
export function createTenantPorts(runDir: string, isTaken: (port: number) => boolean): TenantPorts {
  const given = new Set<number>();
  const known = new Map<string, number>();

  async function pick(): Promise<number | undefined> {
    const span = LAST_PORT - FIRST_PORT;
    const first = Math.floor(Math.random() * span);
    for (let i = 0; i < span; i++) {
      const port = FIRST_PORT + ((first + i) % span);
      if (given.has(port) || isTaken(port)) continue;
      // Reserved before the check, which is asynchronous: concurrent calls must not get the same port.
      given.add(port);
      if (await isPortFree(port)) return port;
      given.delete(port);
    }
    return undefined;
  }

  async function choose(tenant: Tenant): Promise<number> {
    const port = await pick();
    if (port === undefined) throw new Error(`no free port between ${FIRST_PORT} and ${LAST_PORT}`);
    const files = filesOf(runDir, tenant);
    mkdirSync(files.dir, { recursive: true, mode: 0o700 });
    writeFileSync(files.path("apiserver-port"), String(port));
    known.set(idOf(tenant), port);
    return port;
  }

  function read(tenant: Tenant): number | undefined {
    const file = filesOf(runDir, tenant).path("apiserver-port");
    const port = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
    if (!Number.isInteger(port) || port === 0) return undefined;
    given.add(port);
    known.set(idOf(tenant), port);
    return port;
  }

  return {
    pick,
    async ensureApiserverPort(tenant) {
      return known.get(idOf(tenant)) ?? read(tenant) ?? (await choose(tenant));
    },
    async moveApiserverPort(tenant) {
      const old = known.get(idOf(tenant));
      await choose(tenant);
      if (old !== undefined) given.delete(old);
    },
    forget(tenant) {
      const port = known.get(idOf(tenant));
      if (port !== undefined) given.delete(port);
      known.delete(idOf(tenant));
    },
  };
}
