import { etcdPrefixOf, type Tenant } from "./tenant.ts";

/** The tenants' keys in etcd, by its JSON gateway. */
export interface TenantKeys {
  /** Deletes all keys of one tenant; returns their number. */
  remove(tenant: Tenant): Promise<number>;
  /** Every tenant that has keys. */
  list(): Promise<Tenant[]>;
}

const ROOT = "/tenants/";
const TIMEOUT_MS = 10_000;

interface RangeResponse {
  kvs?: { key: string }[];
}

const toBase64 = (text: string): string => Buffer.from(text).toString("base64");

/** The first key after all that begin with `prefix`: the slash at its end becomes the character after the slash. */
export function endOfPrefix(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

/** The tenant that a key belongs to; undefined for any other key. */
export function tenantOfKey(key: string): Tenant | undefined {
  const [namespace = "", name = ""] = key.slice(ROOT.length).split("/");
  return key.startsWith(ROOT) && namespace !== "" && name !== "" ? { namespace, name } : undefined;
}

export function createTenantKeys(etcdUrl: string): TenantKeys {
  async function call(path: string, body: object): Promise<unknown> {
    const response = await fetch(`${etcdUrl}/v3/kv/${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`etcd responds with ${response.status}: ${await response.text()}`);
    return response.json();
  }

  return {
    async remove(tenant) {
      const prefix = `${etcdPrefixOf(tenant)}/`;
      const range = { key: toBase64(prefix), range_end: toBase64(endOfPrefix(prefix)) };
      const { deleted } = (await call("deleterange", range)) as { deleted?: string };
      return Number(deleted ?? 0);
    },
    async list() {
      const tenants: Tenant[] = [];
      let from = ROOT;
      for (;;) {
        // Reads one key per tenant: starts after the keys of the last one.
        const range = {
          key: toBase64(from),
          range_end: toBase64(endOfPrefix(ROOT)),
          limit: 1,
          keys_only: true,
        };
        const { kvs } = (await call("range", range)) as RangeResponse;
        const key = kvs?.[0] && Buffer.from(kvs[0].key, "base64").toString("utf8");
        const tenant = key === undefined ? undefined : tenantOfKey(key);
        if (tenant === undefined) return tenants;
        tenants.push(tenant);
        from = endOfPrefix(`${etcdPrefixOf(tenant)}/`);
      }
    },
  };
}
