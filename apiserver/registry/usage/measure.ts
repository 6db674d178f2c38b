import type { Deps } from "../../deps.ts";
import type { RegistryBackend } from "../backend/backend.ts";
import { listContents } from "../backend/oci.ts";
import { repositoryPrefix } from "../names.ts";
import { deleteImagesExcept, findKnownDigests, findUsage, insertImage, storeMeasurement } from "./store.ts";
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
  { db, log }: Pick<Deps, "db" | "log">,
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
    const image = { repository: `${repositoryPrefix(orgId)}${name}`, digest };
    const read = await readBlobs(backend, image, sizes, signal);
    if (read === undefined) continue;
    const blobs = countUnread(read, digest, measurement.before?.pushedBytes ?? 0);
    await insertImage(db, { orgId, digest, blobs });
    if (!read.isWhole) log.warn({ orgId, digest }, "an image has more parts than are measured");
  }
  await storeMeasurement(db, orgId, { tagCount, ...measurement });
}

/** What was pushed since the last measurement may be in the parts of an image that were not read: it counts until that is gone. */
export function countUnread(
  { blobs, isWhole }: ImageBlobs,
  digest: string,
  pushedBytes: number,
): Record<string, number> {
  return isWhole ? blobs : { ...blobs, [`unread parts of ${digest}`]: pushedBytes };
}

/** When an image has more blobs, the smaller ones count as one blob that no other image shares. */
const MAX_BLOBS = 1000;
/** Official images come for about ten platforms, each with an attestation. */
const MAX_MANIFESTS = 1000;
/** Requests to the registry for one image, which take it some minutes at most. */
const MAX_REQUESTS = 10_000;

type Backend = Pick<RegistryBackend, "findManifest" | "findBlobSize">;

/** What an image takes. */
interface ImageBlobs {
  /** Bytes by the digest of the blob. */
  blobs: Record<string, number>;
  /** Whether all of its parts were read. */
  isWhole: boolean;
}

/**
 * The stored bytes of an image, or of an index with its images: of at most 1,000 manifests, and as far as 10,000 requests
 * go. Sizes are what the registry stores, for a manifest may claim others. `known` holds sizes that were read before and gets the new ones.
 * undefined: the image is not there any more, or `signal` aborted.
 */
export async function readBlobs(
  backend: Backend,
  { repository, digest }: { repository: string; digest: string },
  known: Map<string, number>,
  signal: AbortSignal,
): Promise<ImageBlobs | undefined> {
  const sizes = new Map<string, number>();
  // An index may list another one, and be listed by several.
  const manifests = new Set([digest]);
  let requests = 0;
  let isWhole = true;
  for (const listed of manifests) {
    if (signal.aborted) return undefined;
    requests += 1;
    const manifest = await backend.findManifest(repository, listed);
    if (manifest === undefined) continue;
    sizes.set(manifest.digest, manifest.sizeBytes);
    const contents = listContents(manifest.content);
    for (const child of contents.manifests) {
      if (manifests.size < MAX_MANIFESTS) manifests.add(child.digest);
      else if (!manifests.has(child.digest)) isWhole = false;
    }
    for (const blob of contents.blobs) {
      if (signal.aborted) return undefined;
      if (!known.has(blob.digest)) {
        if (requests >= MAX_REQUESTS) {
          isWhole = false;
          continue;
        }
        requests += 1;
        known.set(blob.digest, (await backend.findBlobSize(repository, blob.digest)) ?? 0);
      }
      sizes.set(blob.digest, known.get(blob.digest) ?? 0);
    }
  }
  if (!sizes.has(digest)) return undefined;
  return { blobs: toBoundedRow(sizes, digest), isWhole };
}

function toBoundedRow(sizes: ReadonlyMap<string, number>, digest: string): Record<string, number> {
  const largestFirst = [...sizes].sort(([, one], [, other]) => other - one);
  const rest = largestFirst.slice(MAX_BLOBS).reduce((sum, [, size]) => sum + size, 0);
  const blobs = Object.fromEntries(largestFirst.slice(0, MAX_BLOBS));
  return rest === 0 ? blobs : { ...blobs, [digest]: rest + (blobs[digest] ?? 0) };
}
