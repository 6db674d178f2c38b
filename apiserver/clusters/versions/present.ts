import type { z } from "@hono/zod-openapi";
import {
  type CatalogueEntry,
  compareKubernetesVersions,
  parseKubernetesVersion,
  type VersionCatalogue,
} from "../../../shared/crd/kubernetes-version.ts";
import { toTimestamp } from "../../http/contract/fields.ts";
import { listUpgrades } from "../kubernetes-version.ts";
import type { kubernetesVersionRecord } from "../schema.ts";

export type KubernetesVersionRecord = z.output<typeof kubernetesVersionRecord>;

/** The whole catalogue, the newest version first. */
export function presentCatalogue(catalogue: VersionCatalogue): KubernetesVersionRecord[] {
  return catalogue
    .toSorted((left, right) => compareKubernetesVersions(right.version, left.version))
    .map(presentVersion);
}

/**
 * The versions that a cluster that runs `current` can be upgraded to in one step, the newest first; none at its end of
 * life, none while no version runs yet, and neither what is being installed nor what is older than that.
 */
export function presentUpgrades(
  catalogue: VersionCatalogue,
  current: string | undefined,
  installing: string | undefined,
): KubernetesVersionRecord[] {
  if (current === undefined) return [];
  return listUpgrades(current, catalogue)
    .filter(({ version }) => installing === undefined || compareKubernetesVersions(version, installing) > 0)
    .map(presentVersion);
}

/** The place of a version in a list that begins with the newest one; each of its numbers is below 10,000. */
export function positionOfVersion({ version }: Pick<KubernetesVersionRecord, "version">): number {
  const { major = 0, minor = 0, patch = 0 } = parseKubernetesVersion(version) ?? {};
  return 1e12 - (major * 1e8 + minor * 1e4 + patch);
}

function presentVersion({
  version,
  status,
  deprecatedAt,
  endOfLifeAt,
}: CatalogueEntry): KubernetesVersionRecord {
  return {
    version,
    status: status === "endOfLife" ? "end_of_life" : status,
    deprecated_at: toTimestamp(deprecatedAt),
    end_of_life_at: toTimestamp(endOfLifeAt),
  };
}
