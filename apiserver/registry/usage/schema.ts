import { z } from "@hono/zod-openapi";
import { countField, timestampField } from "../../http/contract/fields.ts";

const MAX_TAGS = 2_147_483_647;

const bytesField = (description: string, example: number) =>
  z.int().min(0).max(Number.MAX_SAFE_INTEGER).openapi({ format: "int64", description, example });

const EXAMPLE = {
  stored_bytes: 5_368_709_120,
  tag_count: 42,
  measured_at: "2026-11-21T09:00:00.000Z",
  pushed_bytes: 52_428_800,
  limit_bytes: 107_374_182_400,
  limit_tags: 10_000,
};

export const registryUsageRecord = z
  .object({
    stored_bytes: bytesField(
      "Bytes of the blobs of all tagged images, each once; this is billed.",
      EXAMPLE.stored_bytes,
    ),
    tag_count: countField(MAX_TAGS, "Tags of all repositories.", EXAMPLE.tag_count),
    measured_at: timestampField("When both were measured; null before the first time.").nullable(),
    pushed_bytes: bytesField("Bytes that were pushed since then; not billed yet.", EXAMPLE.pushed_bytes),
    limit_bytes: bytesField(
      "Nothing can be pushed once stored and pushed bytes are as many; null: no limit.",
      EXAMPLE.limit_bytes,
    ).nullable(),
    limit_tags: countField(MAX_TAGS, "The same for tags.", EXAMPLE.limit_tags).nullable(),
  })
  .openapi("RegistryUsage", { example: EXAMPLE });
