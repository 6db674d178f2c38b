import {
  compareKubernetesVersions,
  formatKubernetesVersion,
  isIncrementalStep,
  parseKubernetesVersion,
  resolveVersion,
  type VersionCatalogue,
} from "../../shared/kubernetes-version.ts";

/**
 * The full version (no `v`) that a cluster wants. `MAJOR.MINOR` is resolved once and then kept, so that a new patch in
 * the catalogue moves nobody; a full version that was accepted before stays valid when the catalogue drops it.
 * Undefined = the catalogue has no such version.
 */
export function resolveTarget(
  wanted: string,
  lastTarget: string | undefined,
  catalogue: VersionCatalogue,
): string | undefined {
  const kept = lastTarget !== undefined && compareKubernetesVersions(lastTarget, wanted) === 0;
  return kept ? lastTarget : resolveVersion(catalogue, wanted);
}

/**
 * The version to ask of the engine now: `target` in steps of one minor, each only when the last one has settled, unless
 * the class chains versions by itself. Until then it is the version that the live topology has: the engine refuses
 * a whole apply for one refused field, and changes of pools must go on.
 */
export function chooseVersion(facts: {
  target: string;
  live: { version: string; settled: boolean } | undefined;
  catalogue: VersionCatalogue;
  chained: readonly string[];
}): string {
  const { target, live, catalogue, chained } = facts;
  if (live === undefined) return target;
  if (!live.settled || compareKubernetesVersions(target, live.version) <= 0) return live.version;
  if (isIncrementalStep(live.version, target) || chained.includes(`v${target}`)) return target;
  const current = parseKubernetesVersion(live.version);
  if (current === undefined) return live.version;
  const nextMinor = formatKubernetesVersion({ major: current.major, minor: current.minor + 1 });
  return resolveVersion(catalogue, nextMinor) ?? live.version;
}
