import type { RegistryBackend } from "../backend/backend.ts";
import { listContents } from "../manifest-contents.ts";

/** When an image has more blobs, the smaller ones count as one blob that no other image shares. */
const MAX_BLOBS = 1000;

type Backend = Pick<RegistryBackend, "findManifest" | "findBlobSize">;

/**
 * The stored bytes of an image, or of an index with its images, by the digest of the blob. Sizes are what the registry
 * stores, for a manifest may claim others. `known` holds sizes that were read before and gets the new ones. undefined: the
 * image is not there any more.
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
