import { z } from "@hono/zod-openapi";
import {
  compareKubernetesVersions,
  isIncrementalStep,
  parseKubernetesVersion,
  resolveVersion,
  type VersionCatalogue,
} from "../../shared/crd/kubernetes-version.ts";
import type { DetailCode } from "../http/errors.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";

/** `MAJOR.MINOR` or `MAJOR.MINOR.PATCH`, without leading zeros and without a leading `v`. */
const VERSION_PATTERN = /^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3}))?$/;

const MESSAGE = "must be MAJOR.MINOR or MAJOR.MINOR.PATCH, as 1.35 or 1.35.1";

/** The desired version in full: an object can name MAJOR.MINOR, which the operator resolves. */
export function desiredVersionOf({ spec, status }: ProjectedCluster["object"]): string {
  const desired = withoutPrefix(spec.version);
  const isFull = desired.split(".").length === 3;
  return isFull || status?.targetVersion === undefined ? desired : withoutPrefix(status.targetVersion);
}

/** A version as REST shows it. */
export function withoutPrefix(version: string): string {
  return version.replace(/^v/, "");
}

/** A Kubernetes version in a body. */
export function versionField(description: string, example: string) {
  return z
    .string()
    .max(16, { error: MESSAGE })
    .regex(VERSION_PATTERN, { error: MESSAGE })
    .openapi({ description, example });
}

type UpgradeStep = { ok: true; version: string } | { ok: false; code: DetailCode; message: string };

/** Reasons of a cluster that waits for another version to be requested. */
const WRONG_VERSION_REASONS: readonly string[] = ["UnknownVersion", "DowngradeRefused", "UpgradeBlocked"];

/**
 * The full version of an upgrade from `current` to `target`: a higher patch of the same minor or the next minor, and in
 * the catalogue. MAJOR.MINOR means its newest supported patch. Otherwise the reason for the refusal with the versions
 * on offer, `not_incremental` before `invalid_enum`.
 */
export function findUpgradeStep(current: string, target: string, catalogue: VersionCatalogue): UpgradeStep {
  const version = resolveVersion(catalogue, target);
  if (version !== undefined && isIncrementalStep(current, version)) return { ok: true, version };
  const offer = describeOffer(current, catalogue);
  if (isSameVersion(current, version ?? target))
    return { ok: false, code: "not_incremental", message: `the cluster already runs ${current}; ${offer}` };
  const isStep = isIncrementalStep(current, version ?? withPatch(target));
  return { ok: false, code: isStep ? "invalid_enum" : "not_incremental", message: offer };
}

/**
 * Like findUpgradeStep, for a cluster; undefined when it is not running and cannot be upgraded now. A cluster whose
 * desired version cannot be installed may go back to its running version, or, without one, to any version of the
 * catalogue.
 */
export function findClusterStep(
  { status, object }: ProjectedCluster,
  target: string,
  catalogue: VersionCatalogue,
): UpgradeStep | undefined {
  const running = object.status?.version;
  const version = resolveVersion(catalogue, target);
  const current = running === undefined ? undefined : withoutPrefix(running);
  if (isHeld(object) && current !== undefined && isSameVersion(current, version ?? target))
    return { ok: true, version: current };
  if (hasWrongVersion(object)) {
    if (current === undefined)
      return version === undefined ? { ok: false, ...unknownVersion(catalogue) } : { ok: true, version };
    return isSameVersion(current, version ?? target)
      ? { ok: true, version: current }
      : findUpgradeStep(current, target, catalogue);
  }
  if (status !== "running" || current === undefined) return undefined;
  return findUpgradeStep(current, target, catalogue);
}

/** The version that a cluster is being upgraded to; undefined when there is none, or none that it can run. */
export function findInstalling(object: ProjectedCluster["object"]): string | undefined {
  const running = object.status?.version;
  const desired = desiredVersionOf(object);
  const isStuck = hasWrongVersion(object) || isHeld(object);
  if (running === undefined || isStuck || parseKubernetesVersion(desired) === undefined) return undefined;
  return compareKubernetesVersions(desired, running) > 0 ? desired : undefined;
}

function hasWrongVersion({ status }: ProjectedCluster["object"]): boolean {
  const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
  return stalled?.status === "True" && WRONG_VERSION_REASONS.includes(stalled.reason);
}

/** Whether the operator has seen the desired version and left it unapplied: giving it up asks for no downgrade. */
function isHeld({ metadata, status }: ProjectedCluster["object"]): boolean {
  const isObserved = (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
  return isObserved && status?.unapplied?.some(({ field }) => field === "version") === true;
}

/** The versions that a cluster which runs `current` can be upgraded to, the newest first. */
export function listUpgrades(current: string, catalogue: VersionCatalogue): VersionCatalogue {
  return catalogue
    .filter(({ version, status }) => status !== "endOfLife" && isIncrementalStep(current, version))
    .toSorted((left, right) => compareKubernetesVersions(right.version, left.version));
}

/** The refusal of a version that the catalogue does not have, with those that it has. */
export function unknownVersion(catalogue: VersionCatalogue): { code: DetailCode; message: string } {
  const supported = catalogue.filter(({ status }) => status === "supported").map(({ version }) => version);
  const message =
    supported.length === 0
      ? "must be a supported version, and the platform has none right now"
      : `must be a supported version: ${supported.join(", ")}`;
  return { code: "invalid_enum", message };
}

function describeOffer(current: string, catalogue: VersionCatalogue): string {
  const offered = listUpgrades(current, catalogue).map(({ version }) => version);
  if (offered.length === 0)
    return `must be a higher patch of the same minor, or the next minor, of ${current}, and the platform has none right now`;
  return `must be ${offered.length === 1 ? "" : "one of "}${offered.join(", ")}: a higher patch of the same minor, or the next minor, of ${current}`;
}

function isSameVersion(current: string, version: string): boolean {
  return (
    parseKubernetesVersion(version)?.patch !== undefined && compareKubernetesVersions(current, version) === 0
  );
}

/** The greatest patch that a version may have. */
const MAX_PATCH = 9999;

/** A minor of which the catalogue has no patch is compared by its greatest one. */
function withPatch(target: string): string {
  const parsed = parseKubernetesVersion(target);
  if (parsed === undefined) return target;
  return `${parsed.major}.${parsed.minor}.${parsed.patch ?? MAX_PATCH}`;
}
