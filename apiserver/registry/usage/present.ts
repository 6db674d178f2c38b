import type { z } from "@hono/zod-openapi";
import type { RegistryLimits } from "../config.ts";
import { GIB } from "./limit.ts";
import type { registryUsageRecord } from "./schema.ts";
import type { UsageRow } from "./table.ts";

/** The wire form of what an organization takes in the registry; undefined: nothing was pushed yet. */
export function presentRegistryUsage(
  usage: UsageRow | undefined,
  { sizeGiB, tags }: RegistryLimits,
): z.output<typeof registryUsageRecord> {
  return {
    stored_bytes: usage?.storedBytes ?? 0,
    tag_count: usage?.tagCount ?? 0,
    measured_at: usage?.measuredAt?.toISOString() ?? null,
    pushed_bytes: usage?.pushedBytes ?? 0,
    limit_bytes: sizeGiB === undefined ? null : sizeGiB * GIB,
    limit_tags: tags ?? null,
  };
}
