import type { Deps } from "../../deps.ts";
import type { RegistryBackend } from "../backend/backend.ts";
import { findKnownDigests } from "../digest-store.ts";
import { repositoryPrefix } from "../names.ts";
import { readBlobs } from "./read-blobs.ts";
import { deleteImagesExcept, findUsage, insertImage, storeMeasurement } from "./store.ts";
import { registryImages, type UsageRow } from "./table.ts";

/** The tagged images of an organization. */
export interface TaggedImages {
  /** The repository of each digest, without the organization's prefix. */
  repositories: ReadonlyMap<string, string>;
  tagCount: number;
  /** All of them are here; else there was no time to read more. */
  isComplete: boolean;
}

/** A measurement that has begun. */
export interface Measurement {
  orgId: string;
  measuredAt: Date;
  before: UsageRow | undefined;
}

/** Begins to measure an organization, before its tags are read. */
export async function beginMeasurement(
  { db, now }: Pick<Deps, "db" | "now">,
  orgId: string,
): Promise<Measurement> {
  return { orgId, measuredAt: now(), before: await findUsage(db, orgId) };
}

/**
 * Reads the images that were not read before and writes what the organization's images take. When `signal` aborts, those
 * that were read count, and the next measurement goes on with the others.
 */
export async function completeMeasurement(
  db: Deps["db"],
  backend: RegistryBackend,
  { orgId, ...measurement }: Measurement,
  { repositories, tagCount, isComplete }: TaggedImages,
  signal: AbortSignal,
): Promise<void> {
  if (isComplete) await deleteImagesExcept(db, orgId, new Set(repositories.keys()));
  const known = await findKnownDigests(db, registryImages, orgId, [...repositories.keys()]);
  const sizes = new Map<string, number>();
  for (const [digest, name] of repositories) {
    if (signal.aborted) break;
    if (known.has(digest)) continue;
    const blobs = await readBlobs(
      backend,
      { repository: `${repositoryPrefix(orgId)}${name}`, digest },
      sizes,
    );
    if (blobs !== undefined) await insertImage(db, { orgId, digest, blobs });
  }
  await storeMeasurement(db, orgId, { tagCount, ...measurement });
}
