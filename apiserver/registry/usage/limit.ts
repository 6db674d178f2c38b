import { ApiError } from "../../http/errors.ts";
import type { RegistryLimits } from "../config.ts";
import type { UsageRow } from "./table.ts";

export const GIB = 1024 ** 3;

/** The known storage of an organization in bytes: what was measured and what was pushed since. */
export function usedBytesOf(usage: Pick<UsageRow, "storedBytes" | "pushedBytes"> | undefined): number {
  return (usage?.storedBytes ?? 0) + (usage?.pushedBytes ?? 0);
}

/** Throws 422 quota_exceeded for an organization that has as much as it may. */
export function requireSpace(
  { sizeGiB, tags }: RegistryLimits,
  usage: Pick<UsageRow, "storedBytes" | "pushedBytes" | "tagCount"> | undefined,
): void {
  if (sizeGiB !== undefined && usedBytesOf(usage) >= sizeGiB * GIB)
    throw full(`${(usedBytesOf(usage) / GIB).toFixed(2)} GiB of images`, `${sizeGiB} GiB`);
  if (tags !== undefined && (usage?.tagCount ?? 0) >= tags) throw full(`${usage?.tagCount} tags`, `${tags}`);
}

function full(used: string, limit: string): ApiError {
  return new ApiError(
    "quota_exceeded",
    `The organization has ${used} in the registry, and its limit is ${limit}; delete tags, and push again after some minutes.`,
  );
}
