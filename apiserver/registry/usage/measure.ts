import type { Deps } from "../../deps.ts";
import type { RegistryBackend } from "../backend/backend.ts";
import { listContents } from "../backend/oci.ts";
import { findKnownDigests } from "../digest-store.ts";
import { repositoryPrefix } from "../names.ts";
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
interface Measurement {
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
 * Reads the images that were not read before and writes what the organization's images take. When `signal` aborts,
 * those that were read count, and the next measurement goes on with the others.
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

/** When an image has more blobs, the smaller ones count as one blob that no other image shares. */
const MAX_BLOBS = 1000;

type Backend = Pick<RegistryBackend, "findManifest" | "findBlobSize">;

/**
 * The stored bytes of an image, or of an index with its images, by the digest of the blob. Sizes are what the registry
 * stores, for a manifest may claim others. `known` holds sizes that were read before and gets the new ones. undefined:
 * the image is not there any more.
 */
export async function readBlobs(
  backend: Backend,
  { repository, digest }: { repository: string; digest: string },
  known: Map<string, number>,
): Promise<Record<string, number> | undefined> {
  const sizes = new Map<string, number>();
  // An index may list another one, and be listed by several.
  const manifests = new Set([digest]);
  for (const listed of manifests) {
    const manifest = await backend.findManifest(repository, listed);
    if (manifest === undefined) continue;
    sizes.set(manifest.digest, manifest.sizeBytes);
    const contents = listContents(manifest.content);
    for (const child of contents.manifests) manifests.add(child.digest);
    for (const blob of contents.blobs) {
      const size = known.get(blob.digest) ?? (await backend.findBlobSize(repository, blob.digest)) ?? 0;
      known.set(blob.digest, size);
      sizes.set(blob.digest, size);
    }
  }
  if (!sizes.has(digest)) return undefined;
  const largestFirst = [...sizes].sort(([, one], [, other]) => other - one);
  const rest = largestFirst.slice(MAX_BLOBS).reduce((sum, [, size]) => sum + size, 0);
  const blobs = Object.fromEntries(largestFirst.slice(0, MAX_BLOBS));
  return rest === 0 ? blobs : { ...blobs, [digest]: rest + (blobs[digest] ?? 0) };
}
