import {
  isIncrementalStep,
  parseKubernetesVersion,
  resolveVersion,
  type VersionCatalogue,
} from "../../shared/kubernetes-version.ts";
import type { DetailCode } from "../http/errors.ts";
import type { ProjectedCluster } from "../projection/index.ts";
import { withoutPrefix } from "./present.ts";

export type UpgradeStep = { ok: true; version: string } | { ok: false; code: DetailCode; message: string };

/**
 * The full version of an upgrade from `current` to `target`: a higher patch of the same minor or the next minor, and in
 * the catalogue. MAJOR.MINOR means its newest supported patch. Otherwise the reason for the refusal, `not_incremental`
 * before `invalid_enum`.
 */
export function findUpgradeStep(current: string, target: string, catalogue: VersionCatalogue): UpgradeStep {
  const version = resolveVersion(catalogue, target);
  const isStep = isIncrementalStep(current, version ?? withPatch(target));
  if (!isStep) {
    const message = `must be a higher patch of the same minor, or the next minor, of ${current}`;
    return { ok: false, code: "not_incremental", message };
  }
  if (version === undefined)
    return { ok: false, code: "invalid_enum", message: "must be a version of the catalogue" };
  return { ok: true, version };
}

/** The same for a cluster as it is; undefined when it is not running and cannot be upgraded now. */
export function findClusterStep(
  { status, object }: ProjectedCluster,
  target: string,
  catalogue: VersionCatalogue,
): UpgradeStep | undefined {
  const running = object.status?.version;
  if (status !== "running" || running === undefined) return undefined;
  return findUpgradeStep(withoutPrefix(running), target, catalogue);
}

/** The greatest patch that a version may have. */
const MAX_PATCH = 9999;

/** A minor of which the catalogue has no patch is compared by its greatest one. */
function withPatch(target: string): string {
  const parsed = parseKubernetesVersion(target);
  if (parsed === undefined) return target;
  return `${parsed.major}.${parsed.minor}.${parsed.patch ?? MAX_PATCH}`;
}
