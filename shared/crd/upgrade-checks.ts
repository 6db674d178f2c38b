import { z } from "zod";
import type { ObjectMeta } from "../kube/kind.ts";
import { compareKubernetesVersions, parseKubernetesVersion } from "./kubernetes-version.ts";
import { ANNOTATION_UPGRADE_FORCE } from "./names.ts";

/** `Enforce`: a check that blocks holds an upgrade; `Warn`: it is reported. */
export const UPGRADE_CHECK_MODES = ["Warn", "Enforce"] as const;
type UpgradeCheckMode = (typeof UPGRADE_CHECK_MODES)[number];

export const upgradeChecks = z.enum(UPGRADE_CHECK_MODES).optional().meta({
  description:
    "Whether what an upgrade finds in the cluster and that blocks it is only reported (Warn), or holds the upgrade until that is solved (Enforce). Absent means Warn.",
});

export function isEnforced({
  upgradeChecks: mode,
}: {
  upgradeChecks?: UpgradeCheckMode | undefined;
}): boolean {
  return mode === "Enforce";
}

/** Characters of the reason for which an upgrade is forced. */
export const MAX_FORCE_REASON_LENGTH = 256;

/** The annotation by which the upgrade to this version is not held by checks. */
export function composeForce(version: string, reason: string): Record<string, string> {
  return { [ANNOTATION_UPGRADE_FORCE]: `${version} ${reason}` };
}

/**
 * The reason for which the upgrade to the full version `target` is forced: what stands in the annotation behind that version
 * and a space. Undefined when it is not forced: also without a reason, for another version, or for MAJOR.MINOR, which would
 * force every later patch too.
 */
export function findForceReason(
  { annotations }: Pick<ObjectMeta, "annotations">,
  target: string,
): string | undefined {
  const [, version = "", reason = ""] =
    /^(\S+)\s+(\S.*)$/s.exec(annotations?.[ANNOTATION_UPGRADE_FORCE] ?? "") ?? [];
  if (parseKubernetesVersion(version)?.patch === undefined) return undefined;
  return compareKubernetesVersions(version, target) === 0 ? reason : undefined;
}
