import { z } from "zod";

/** `MAJOR.MINOR.PATCH` or `MAJOR.MINOR`, with or without a leading `v`, no leading zeros. */
export const KUBERNETES_VERSION_PATTERN =
  /^v?(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3}))?$/;

export interface KubernetesVersion {
  major: number;
  minor: number;
  /** Absent when only `MAJOR.MINOR` was given. */
  patch?: number;
}

const catalogueStatuses = ["supported", "deprecated", "endOfLife"] as const;

/** One version of the catalogue: `version` is full and has no `v`; times are RFC 3339. */
export const catalogueEntrySchema = z.object({
  version: z.string().regex(/^[0-9]+\.[0-9]+\.[0-9]+$/),
  status: z.enum(catalogueStatuses),
  deprecatedAt: z.iso.datetime({ offset: true }).optional(),
  endOfLifeAt: z.iso.datetime({ offset: true }).optional(),
});
export const versionCatalogueSchema = z.array(catalogueEntrySchema);
export type CatalogueEntry = z.output<typeof catalogueEntrySchema>;
export type VersionCatalogue = z.output<typeof versionCatalogueSchema>;

/** Undefined for text that is not a version. */
export function parseKubernetesVersion(text: string): KubernetesVersion | undefined {
  const match = KUBERNETES_VERSION_PATTERN.exec(text);
  if (match === null) return undefined;
  const version = { major: Number(match[1]), minor: Number(match[2]) };
  return match[4] === undefined ? version : { ...version, patch: Number(match[4]) };
}

/** `MAJOR.MINOR[.PATCH]` without a leading `v`. */
export function formatKubernetesVersion(version: KubernetesVersion): string {
  const minor = `${version.major}.${version.minor}`;
  return version.patch === undefined ? minor : `${minor}.${version.patch}`;
}

/**
 * Negative when `left` is older than `right`, 0 when equal, positive when newer. A version without a patch equals every
 * patch of its minor. Throws RangeError for text that is not a version.
 */
export function compareKubernetesVersions(left: string, right: string): number {
  const a = mustParse(left);
  const b = mustParse(right);
  if (a.major !== b.major) return a.major - b.major;
  if (a.minor !== b.minor) return a.minor - b.minor;
  return a.patch === undefined || b.patch === undefined ? 0 : a.patch - b.patch;
}

/**
 * Whether `target` is one upgrade step from `current`: a higher patch of the same minor, or any patch of exactly the
 * next minor. False unless both are full versions.
 */
export function isIncrementalStep(current: string, target: string): boolean {
  const from = parseKubernetesVersion(current);
  const to = parseKubernetesVersion(target);
  if (from?.patch === undefined || to?.patch === undefined || from.major !== to.major) return false;
  return to.minor === from.minor ? to.patch > from.patch : to.minor === from.minor + 1;
}

/**
 * Whether `wanted` is not older than `current` and at most one minor newer: the CEL rule of the Cluster resource.
 * `wanted` may omit the patch.
 */
export function isWithinOneMinor(current: string, wanted: string): boolean {
  const from = parseKubernetesVersion(current);
  const to = parseKubernetesVersion(wanted);
  if (from === undefined || to === undefined || from.major !== to.major) return false;
  if (to.minor !== from.minor) return to.minor === from.minor + 1;
  return from.patch === undefined || to.patch === undefined || to.patch >= from.patch;
}

/**
 * The full version (no `v`) of `wanted`: for `MAJOR.MINOR` the newest supported patch of that minor, for a full version
 * itself when the catalogue has it and it is not at its end of life. Undefined when there is none.
 */
export function resolveVersion(catalogue: VersionCatalogue, wanted: string): string | undefined {
  const version = parseKubernetesVersion(wanted);
  if (version === undefined) return undefined;
  if (version.patch !== undefined) {
    const full = formatKubernetesVersion(version);
    return catalogue.find((entry) => entry.version === full && entry.status !== "endOfLife")?.version;
  }
  return catalogue
    .filter((entry) => entry.status === "supported" && compareKubernetesVersions(entry.version, wanted) === 0)
    .map((entry) => entry.version)
    .sort(compareKubernetesVersions)
    .at(-1);
}

/** The newest supported version that is one upgrade step from `current`; undefined when there is none. */
export function findUpgrade(catalogue: VersionCatalogue, current: string): string | undefined {
  return catalogue
    .filter((entry) => entry.status === "supported" && isIncrementalStep(current, entry.version))
    .map((entry) => entry.version)
    .sort(compareKubernetesVersions)
    .at(-1);
}

function mustParse(text: string): KubernetesVersion {
  const version = parseKubernetesVersion(text);
  if (version === undefined) throw new RangeError(`not a Kubernetes version: ${JSON.stringify(text)}`);
  return version;
}
