import type { Deps } from "../../deps.ts";
import { findKnownOrganizations } from "../../organizations/index.ts";
import { BackendError, type RegistryBackend } from "../backend/backend.ts";
import { listAllNames } from "../backend/list-all-names.ts";
import { isRepositoryName, parseRepository, repositoryPrefix } from "../names.ts";
import {
  deleteScansExcept,
  findDigestsWithScan,
  listScannedOrganizations,
  PRIORITIES,
  requestMissingScans,
} from "./store.ts";

type SweepDeps = Pick<Deps, "db" | "log" | "now">;

const PREFIX = "org-";
/** An image without a tag keeps its result so long: it may be about to get one. */
const UNTAGGED_KEPT_MS = 3_600_000;

/**
 * Requests a scan of every tagged image that has none, for a notification that was pending when the registry restarted is
 * lost; deletes the results of images that have no tag any more. Reads the whole registry, one request after the other.
 * An organization whose repositories the registry does not read is left as it is. Throws BackendError when the registry
 * cannot be reached or refuses.
 */
export async function sweepRegistry(
  deps: SweepDeps,
  backend: RegistryBackend,
  signal: AbortSignal,
): Promise<void> {
  const usedBefore = new Date(deps.now().getTime() - UNTAGGED_KEPT_MS);
  const repositories = await listOrganizationRepositories(backend);
  for (const [orgId, names] of repositories) {
    if (!(await findKnownOrganizations(deps.db, [orgId])).has(orgId)) continue;
    try {
      const keep = await sweepOrganization(deps, backend, { orgId, names }, signal);
      if (signal.aborted) return;
      await deleteScansExcept(deps.db, orgId, { keep, usedBefore });
    } catch (error) {
      if (!(error instanceof BackendError) || error.fault !== "failed") throw error;
      deps.log.warn({ orgId, message: error.message }, "the images of an organization were not read");
    }
  }
  for (const orgId of await listScannedOrganizations(deps.db))
    if (!repositories.has(orgId)) await deleteScansExcept(deps.db, orgId, { keep: new Set(), usedBefore });
}

/** The names of the repositories of each organization, without its prefix. */
async function listOrganizationRepositories(backend: RegistryBackend): Promise<Map<string, string[]>> {
  const repositories = new Map<string, string[]>();
  for await (const repository of listAllNames((page) => backend.listRepositories(PREFIX, page))) {
    const place = parseRepository(repository);
    if (place === undefined || !isRepositoryName(place.name)) continue;
    const names = repositories.get(place.orgId) ?? [];
    names.push(place.name);
    repositories.set(place.orgId, names);
  }
  return repositories;
}

/** Requests the missing scans of an organization. Returns the digests of all its tags. */
async function sweepOrganization(
  { db, now }: SweepDeps,
  backend: RegistryBackend,
  { orgId, names }: { orgId: string; names: readonly string[] },
  signal: AbortSignal,
): Promise<Set<string>> {
  const all = new Set<string>();
  for (const name of names) {
    const repository = `${repositoryPrefix(orgId)}${name}`;
    const digests = new Set<string>();
    for await (const tag of listAllNames((page) => backend.listTags(repository, page))) {
      if (signal.aborted) return all;
      const digest = await backend.findDigest(repository, tag);
      if (digest !== undefined) digests.add(digest);
    }
    const known = await findDigestsWithScan(db, orgId, [...digests]);
    const missing = [...digests].filter((digest) => !known.has(digest));
    await requestMissingScans(
      db,
      missing.map((digest) => ({ orgId, digest, repository: name, priority: PRIORITIES.sweep, at: now() })),
    );
    for (const digest of digests) all.add(digest);
  }
  return all;
}
