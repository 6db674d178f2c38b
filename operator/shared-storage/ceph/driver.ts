import { z } from "zod";
import { sleep } from "../../../shared/program/time.ts";
import { requireLimit, type StorageDriver, StorageError, type StoragePool } from "../driver.ts";
import type { CephApi, CephResponse } from "./api.ts";

/** Deadline of one call. A manager computes the figures of a thousand pools in seconds. */
const DEADLINE_MS = 30_000;
/** The manager reports a change of the monitors a moment after they made it. */
const RECHECK_AFTER_MS = 300;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Placement groups of a new pool; the cluster's autoscaler raises them as the pool grows. */
const PLACEMENT_GROUPS = 1;
const ATTRIBUTES = "stats=true&attrs=pool_name,quota_max_bytes,stats";

const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const poolSchema = z.object({
  pool_name: z.string(),
  quota_max_bytes: bytes,
  // What the limit counts: the bytes of the clients, without replicas.
  stats: z.object({ stored: z.object({ latest: bytes }) }),
});

/**
 * Data pools of Ceph, one for each organization: `<prefix><organization's id>`, limited by quota_max_bytes. Ceph takes
 * 0 for no limit and keeps the last one when none is sent. Other pools are neither read nor changed.
 */
export function createCephDriver(
  api: CephApi,
  poolPrefix: string,
  deadlineMs: number = DEADLINE_MS,
): StorageDriver {
  const within = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  const nameOf = (orgId: string) => {
    if (!UUID.test(orgId)) throw new StorageError("rejected", "the id of the organization is no UUID");
    return poolPrefix + orgId;
  };

  function toPool(found: z.output<typeof poolSchema>): StoragePool | undefined {
    const orgId = found.pool_name.slice(poolPrefix.length);
    if (!found.pool_name.startsWith(poolPrefix) || !UUID.test(orgId)) return undefined;
    const { quota_max_bytes: quota, stats } = found;
    return { orgId, quotaBytes: quota === 0 ? undefined : quota, usedBytes: stats.stored.latest };
  }

  async function read(orgId: string, signal: AbortSignal): Promise<StoragePool | undefined> {
    const path = `/api/pool/${encodeURIComponent(nameOf(orgId))}?${ATTRIBUTES}`;
    const response = await api.request({ method: "GET", path, signal });
    return response.status === 404 ? undefined : toPool(parse(poolSchema, response));
  }

  async function waitForLimit(orgId: string, quotaBytes: number, signal: AbortSignal): Promise<void> {
    while ((await read(orgId, signal))?.quotaBytes !== quotaBytes) {
      if (!(await sleep(RECHECK_AFTER_MS, signal)))
        throw new StorageError("unavailable", "it did not report the limit in time");
    }
  }

  return {
    async listPools(signal) {
      const response = await api.request({
        method: "GET",
        path: `/api/pool?${ATTRIBUTES}`,
        signal: within(signal),
      });
      return parse(z.array(poolSchema), response).flatMap((found) => toPool(found) ?? []);
    },
    readPool: (orgId, signal) => read(orgId, within(signal)),
    async ensurePool(orgId, quotaBytes, signal) {
      requireLimit(quotaBytes);
      const deadline = within(signal);
      const body = {
        pool: nameOf(orgId),
        pool_type: "replicated",
        pg_num: PLACEMENT_GROUPS,
        application_metadata: ["cephfs"],
        quota_max_bytes: quotaBytes,
      };
      // For a pool that exists this sets the limit.
      requireFound(await api.request({ method: "POST", path: "/api/pool", body, signal: deadline }));
      await waitForLimit(orgId, quotaBytes, deadline);
    },
    async setQuota(orgId, quotaBytes, signal) {
      requireLimit(quotaBytes);
      const deadline = within(signal);
      const path = `/api/pool/${encodeURIComponent(nameOf(orgId))}`;
      const body = { quota_max_bytes: quotaBytes };
      requireFound(await api.request({ method: "PUT", path, body, signal: deadline }));
      await waitForLimit(orgId, quotaBytes, deadline);
    },
    async removePool(orgId, signal) {
      const path = `/api/pool/${encodeURIComponent(nameOf(orgId))}`;
      await api.request({ method: "DELETE", path, signal: within(signal) });
    },
  };
}

function requireFound({ status }: CephResponse): void {
  if (status === 404) throw new StorageError("unavailable", "the pool does not exist");
}

function parse<Schema extends z.ZodType>(schema: Schema, { body }: CephResponse): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new StorageError("unavailable", "its answer cannot be understood", { cause: parsed.error });
}
