import type { Deps } from "../../deps.ts";
import { findKnownOrganizations } from "../../organizations/index.ts";
import type { RegistryBackend } from "../backend/backend.ts";
import { listAllNames } from "../backend/list-all-names.ts";
import { isRepositoryName, parseRepository } from "../names.ts";
import { findDigestsWithScan, PRIORITIES, requestMissingScans } from "./store.ts";

const PREFIX = "org-";

/**
 * Requests a scan of every tagged image that has none: a notification that was pending when the registry restarted is
 * lost. Reads the whole registry, one request after the other.
 */
export async function sweepRegistry(
  { db, now }: Pick<Deps, "db" | "now">,
  backend: RegistryBackend,
  signal: AbortSignal,
): Promise<void> {
  for await (const repository of listAllNames((page) => backend.listRepositories(PREFIX, page))) {
    const place = parseRepository(repository);
    if (place === undefined || !isRepositoryName(place.name)) continue;
    const { orgId, name } = place;
    if (!(await findKnownOrganizations(db, [orgId])).has(orgId)) continue;
    const digests = new Set<string>();
    for await (const tag of listAllNames((page) => backend.listTags(repository, page))) {
      if (signal.aborted) return;
      const digest = await backend.findDigest(repository, tag);
      if (digest !== undefined) digests.add(digest);
    }
    const known = await findDigestsWithScan(db, orgId, [...digests]);
    const missing = [...digests].filter((digest) => !known.has(digest));
    await requestMissingScans(
      db,
      missing.map((digest) => ({ orgId, digest, repository: name, priority: PRIORITIES.sweep, at: now() })),
    );
  }
}
