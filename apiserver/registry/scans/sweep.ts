import type { Deps } from "../../deps.ts";
import { findKnownOrganizations } from "../../organizations/index.ts";
import { listAllNames } from "../backend/access.ts";
import { BackendError, type NamesRequest, type RegistryBackend } from "../backend/backend.ts";
import type { RegistryLimits } from "../config.ts";
import { isRepositoryName, parseRepository, repositoryPrefix } from "../names.ts";
import { beginMeasurement, completeMeasurement, type TaggedImages } from "../usage/measure.ts";
import { findKnownDigests, listFullOrganizations, listUsage } from "../usage/store.ts";
import { keepNewReports } from "./record-report.ts";
import { deleteScansExcept, listScannedOrganizations, PRIORITIES, requestMissingScans } from "./store.ts";
import { registryScans } from "./table.ts";

type SweepDeps = Pick<Deps, "db" | "log" | "now">;

const PREFIX = "org-";
/** An image without a tag keeps its result so long: it may be about to get one. */
const UNTAGGED_KEPT_MS = 3_600_000;
/** An organization at a limit is measured again after this time. */
const FULL_EVERY_MS = 600_000;

/** One organization has this long in one sweep, so that the others are read too, and so has the list of all repositories. */
const LIMIT_MS = 1_200_000;

/**
 * Requests a scan of every tagged image that has none, for a notification that was pending when the registry restarted
 * is lost; of a registry that scans by itself, keeps the reports that are new; deletes the results of images that have
 * no tag any more; measures what the images of each organization take. Reads the whole registry, one request after the
 * other. An organization whose repositories the registry does not read, or not in time, is left unchanged. Throws
 * BackendError when the registry cannot be reached or refuses, or, once each known organization was read alone, did not list all repositories.
 */
export async function sweepRegistry(
  deps: SweepDeps,
  backend: RegistryBackend,
  signal: AbortSignal,
): Promise<void> {
  const all = await listOrganizationRepositories(backend, PREFIX, signal).catch(requireFaultOfOne);
  const repositories = all instanceof BackendError ? undefined : all;
  const organizations = new Set([
    ...(repositories?.keys() ?? []),
    ...(await listScannedOrganizations(deps.db)),
    ...(await listUsage(deps.db)).map(({ orgId }) => orgId),
  ]);
  for (const orgId of organizations) {
    if (signal.aborted) break;
    if (!(await findKnownOrganizations(deps.db, [orgId])).has(orgId)) continue;
    const list = async () =>
      repositories ?? listOrganizationRepositories(backend, repositoryPrefix(orgId), signal);
    await sweepOrLog(deps, backend, { orgId, list }, signal);
  }
  if (all instanceof BackendError) throw all;
}

/** Measures organizations at a limit again: what was pushed may have been there before, and tags may be deleted. */
export async function sweepFullOrganizations(
  deps: SweepDeps & { limits: RegistryLimits },
  backend: RegistryBackend,
  signal: AbortSignal,
): Promise<void> {
  const measuredBefore = new Date(deps.now().getTime() - FULL_EVERY_MS);
  for (const orgId of await listFullOrganizations(deps.db, deps.limits, measuredBefore)) {
    if (signal.aborted) return;
    const list = () => listOrganizationRepositories(backend, repositoryPrefix(orgId), signal);
    await sweepOrLog(deps, backend, { orgId, list }, signal);
  }
}

/** The repositories of one organization, without its prefix. */
interface OrganizationRepositories {
  orgId: string;
  names: readonly string[];
}

async function sweepOrLog(
  deps: SweepDeps,
  backend: RegistryBackend,
  { orgId, list }: { orgId: string; list: () => Promise<ReadonlyMap<string, string[]>> },
  signal: AbortSignal,
): Promise<void> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  try {
    const names = (await list()).get(orgId) ?? [];
    await sweepOrganization(deps, backend, { orgId, names }, limited);
    if (limited.aborted && !signal.aborted)
      deps.log.warn({ orgId }, "there was no time to read all images of an organization");
  } catch (error) {
    const { message } = requireFaultOfOne(error);
    deps.log.warn({ orgId, message }, "the images of an organization were not read");
  }
}

/** The fault of one list, whose length tenants decide: the registry responds to others. Throws any other error. */
function requireFaultOfOne(error: unknown): BackendError {
  if (error instanceof BackendError && (error.fault === "failed" || error.fault === "timeout")) return error;
  throw error;
}

async function sweepOrganization(
  deps: SweepDeps,
  backend: RegistryBackend,
  organization: OrganizationRepositories,
  signal: AbortSignal,
): Promise<void> {
  const { orgId } = organization;
  const measurement = await beginMeasurement(deps, orgId);
  const images = await readTaggedImages(deps, backend, organization, signal);
  if (images.isComplete)
    await deleteScansExcept(deps.db, orgId, {
      keep: new Set(images.repositories.keys()),
      usedBefore: new Date(deps.now().getTime() - UNTAGGED_KEPT_MS),
    });
  await completeMeasurement(deps, backend, measurement, images, signal);
}

/** The names of the repositories of each organization, without its prefix. Throws BackendError when there is no time for all of them. */
async function listOrganizationRepositories(
  backend: RegistryBackend,
  prefix: string,
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const repositories = new Map<string, string[]>();
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  const bounded = backend.endingWith(limited);
  const fail = (cause: unknown) => {
    throw limited.aborted ? new BackendError("timeout", "the list took too long", { cause }) : cause;
  };
  const list = (page: NamesRequest) => bounded.listRepositories(prefix, page).catch(fail);
  for await (const repository of listAllNames(list)) {
    const place = parseRepository(repository);
    if (place === undefined || !isRepositoryName(place.name)) continue;
    const names = repositories.get(place.orgId) ?? [];
    names.push(place.name);
    repositories.set(place.orgId, names);
  }
  return repositories;
}

async function requestScansOf(
  db: Deps["db"],
  { orgId, repository, digests }: { orgId: string; repository: string; digests: readonly string[] },
  at: Date,
): Promise<void> {
  const known = await findKnownDigests(db, registryScans, orgId, digests);
  const missing = digests.filter((digest) => !known.has(digest));
  const requests = missing.map((digest) => ({ digest, repository, priority: PRIORITIES.sweep, at }));
  await requestMissingScans(db, orgId, requests);
}

/**
 * Reads the tags of an organization until `signal` aborts, and requests the scans that are missing, or keeps new
 * reports.
 */
async function readTaggedImages(
  { db, now }: SweepDeps,
  backend: RegistryBackend,
  { orgId, names }: OrganizationRepositories,
  signal: AbortSignal,
): Promise<TaggedImages> {
  const repositories = new Map<string, string>();
  let tagCount = 0;
  for (const name of names) {
    const repository = `${repositoryPrefix(orgId)}${name}`;
    const digests = new Set<string>();
    for await (const tag of listAllNames((page) => backend.listTags(repository, page))) {
      if (signal.aborted) return { repositories, tagCount, isComplete: false };
      const digest = await backend.findDigest(repository, tag);
      tagCount++;
      if (digest !== undefined) digests.add(digest);
    }
    const images = { orgId, repository: name, digests: [...digests] };
    if (backend.ownScans) await keepNewReports(db, backend.ownScans, images, { now, signal });
    else await requestScansOf(db, images, now());
    for (const digest of digests) repositories.set(digest, name);
  }
  return { repositories, tagCount, isComplete: true };
}
