import type { z } from "@hono/zod-openapi";
import type { Deps } from "../deps.ts";
import { dependencyUnavailable } from "../http/errors.ts";
import { createBackend, listAllNames } from "./backend/access.ts";
import {
  BackendError,
  type NamesRequest,
  type RegistryBackend,
  type StoredManifest,
} from "./backend/backend.ts";
import { listContents } from "./backend/oci.ts";
import { MAX_TAGS, repositoryPrefix } from "./names.ts";
import type { tagRecord } from "./schema.ts";
import { mayHaveImages } from "./store.ts";

/** Requests to the registry at once for one request to the API. */
const CONCURRENCY = 8;
/** The registry lists repositories whose last tag is deleted; so many of them are passed over for one page. */
const MAX_EMPTY_BATCHES = 20;
/** Official images come for about ten platforms. */
const MAX_IMAGES = 32;
/** Repositories that are looked at together for one with a tag. */
const LOOK_LIMIT = 50;
/** Requests that begin within it, and reads of the Kubernetes API, end within the 60 s that an organization is closed to changes. */
const LOOK_WITHIN_MS = 25_000;

/** Repositories of a prefix that have a tag, without the prefix, and where the next page begins. */
export async function listRepositories(
  backend: Pick<RegistryBackend, "listRepositories" | "listTags">,
  prefix: string,
  { after, limit }: NamesRequest,
): Promise<{ names: string[]; next: string | undefined }> {
  const names: string[] = [];
  let last = after === undefined ? undefined : `${prefix}${after}`;
  for (let n = 0; n < MAX_EMPTY_BATCHES; n++) {
    const listed = await backend.listRepositories(prefix, { after: last, limit: limit + 1 });
    const isTagged = await mapConcurrently(listed, async (repository) => {
      const tags = await backend.listTags(repository, { after: undefined, limit: 1 });
      return tags.length > 0;
    });
    names.push(...listed.filter((_, index) => isTagged[index]).map((name) => name.slice(prefix.length)));
    last = listed.at(-1);
    if (names.length > limit) return { names: names.slice(0, limit), next: names[limit - 1] };
    if (listed.length <= limit) return { names, next: undefined };
  }
  return { names, next: last?.slice(prefix.length) };
}

/**
 * Whether a repository of a prefix has a tag, however many have none. Throws BackendError when the registry takes more than 25 s to
 * list them all.
 */
export async function hasImages(
  backend: Pick<RegistryBackend, "listRepositories" | "listTags">,
  prefix: string,
): Promise<boolean> {
  const until = performance.now() + LOOK_WITHIN_MS;
  const requireTime = () => {
    if (performance.now() < until) return;
    throw new BackendError("timeout", "the registry did not list all repositories in time");
  };
  const timed: typeof backend = {
    async listRepositories(...request) {
      requireTime();
      return backend.listRepositories(...request);
    },
    async listTags(...request) {
      requireTime();
      return backend.listTags(...request);
    },
  };
  let after: string | undefined;
  do {
    const { names, next } = await listRepositories(timed, prefix, { after, limit: LOOK_LIMIT });
    if (names.length > 0) return true;
    after = next;
  } while (after !== undefined);
  return false;
}

/** Tags of a repository with what they name. One whose image is deleted meanwhile is left out. */
export async function listTags(
  backend: RegistryBackend,
  repository: string,
  { after, limit }: NamesRequest,
): Promise<{ items: z.output<typeof tagRecord>[]; next: string | undefined }> {
  const names = await backend.listTags(repository, { after, limit: limit + 1 });
  const shown = names.slice(0, limit);
  const items = await mapConcurrently(shown, async (name) => {
    const manifest = await backend.findManifest(repository, name);
    if (manifest === undefined) return [];
    const { digest, mediaType } = manifest;
    return [{ name, digest, media_type: mediaType, size_bytes: await sizeOf(backend, repository, manifest) }];
  });
  return { items: items.flat(), next: names.length > limit ? shown.at(-1) : undefined };
}

/** The names of the first tags of a repository, one more than MAX_TAGS where there are more; none when it is not there. */
export async function listTagNames(
  backend: Pick<RegistryBackend, "listTags">,
  repository: string,
): Promise<string[]> {
  const names: string[] = [];
  for await (const name of listAllNames((page) => backend.listTags(repository, page))) {
    names.push(name);
    if (names.length > MAX_TAGS) break;
  }
  return names;
}

/** Deletes every image that one of these tags of a repository names; what is pushed meanwhile stays. */
export async function deleteImages(
  backend: Pick<RegistryBackend, "findDigest" | "deleteManifest" | "deleteTag">,
  repository: string,
  tags: readonly string[],
): Promise<void> {
  const digests = await mapConcurrently(tags, (tag) => backend.findDigest(repository, tag));
  const named = new Set(digests.filter((digest) => digest !== undefined));
  await mapConcurrently([...named], (digest) => backend.deleteManifest(repository, digest));
  // Tags that name nothing would be listed for ever.
  const broken = tags.filter((_, index) => digests[index] === undefined);
  await mapConcurrently(broken, (tag) => backend.deleteTag(repository, tag));
}

/**
 * Whether an organization has images; false without a registry. One that no image could be pushed for has none, so the
 * registry is not asked; Harbor has its own accounts and is always asked. Throws 503 when a registry that must be
 * asked cannot be used.
 */
export function createImageCheck({
  config,
  db,
  now,
}: Pick<Deps, "config" | "db" | "now">): (orgId: string) => Promise<boolean> {
  const { registry } = config;
  if (registry === undefined) return () => Promise.resolve(false);
  const backend = createBackend(registry, now);
  return async (orgId) => {
    if (registry.kind === "distribution" && !(await mayHaveImages(db, orgId))) return false;
    try {
      return await hasImages(backend, repositoryPrefix(orgId));
    } catch (error) {
      if (error instanceof BackendError) throw dependencyUnavailable("The registry", error);
      throw error;
    }
  };
}

/** Bytes of an image or an index with its images (the first 32), each blob once, as the manifests name them. */
async function sizeOf(
  backend: RegistryBackend,
  repository: string,
  manifest: StoredManifest,
): Promise<number> {
  const { blobs, manifests } = listContents(manifest.content);
  // One after the other: a manifest may have 4 MiB, and this runs for several tags at once.
  const images: (StoredManifest | undefined)[] = [];
  for (const { digest } of manifests.slice(0, MAX_IMAGES))
    images.push(await backend.findManifest(repository, digest));
  const all = [
    { digest: manifest.digest, size: manifest.sizeBytes },
    ...blobs,
    ...images.flatMap((image) =>
      image === undefined
        ? []
        : [{ digest: image.digest, size: image.sizeBytes }, ...listContents(image.content).blobs],
    ),
  ];
  return [...new Map(all.map(({ digest, size }) => [digest, size])).values()].reduce(
    (sum, size) => sum + size,
    0,
  );
}

async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += CONCURRENCY)
    results.push(...(await Promise.all(items.slice(start, start + CONCURRENCY).map(map))));
  return results;
}
