import {
  compareKubernetesVersions,
  formatKubernetesVersion,
  isIncrementalStep,
  parseKubernetesVersion,
  resolveVersion,
  type VersionCatalogue,
} from "../../shared/kubernetes-version.ts";
import type { Fault } from "../runtime/conditions.ts";

/**
 * The full version (no `v`) that a cluster wants. `MAJOR.MINOR` is resolved once and then kept, so that a new patch in
 * the catalogue moves nobody; a full version that was accepted before stays valid when the catalogue drops it.
 * `known` is what it resolved to before, or what already runs. Undefined = the catalogue has no such version.
 */
export function resolveTarget(
  wanted: string,
  known: string | undefined,
  catalogue: VersionCatalogue,
): string | undefined {
  const kept = known !== undefined && compareKubernetesVersions(known, wanted) === 0;
  return kept ? known : resolveVersion(catalogue, wanted);
}

export interface VersionFacts {
  /** `spec.version`. */
  wanted: string;
  /** `status.targetVersion`. */
  lastTarget: string | undefined;
  /** What the live topology has, and whether everything runs it. */
  live: { version: string; settled: boolean } | undefined;
  catalogue: VersionCatalogue;
  /** Versions (with `v`) that the class chains by itself. */
  chained: readonly string[];
}

/**
 * `target`: the full version wanted, undefined when there is none. `version`: what to ask of the engine now; undefined
 * when there is nothing to ask for.
 */
export type VersionChoice =
  | { target: string | undefined; version: string; fault: Fault | undefined }
  | { target: undefined; version: undefined; fault: Fault };

/**
 * The version to ask of the engine now: the target in steps of one minor, each only when the last one has settled, unless
 * the class chains versions by itself. Until then, and while the wish cannot be granted, it is the version that the live
 * topology has: the engine refuses a whole apply for one refused field, and changes of pools must go on.
 */
export function chooseVersion(facts: VersionFacts): VersionChoice {
  const { wanted, live, catalogue } = facts;
  const target = resolveTarget(wanted, facts.lastTarget ?? live?.version, catalogue);
  if (target === undefined) {
    const message = `The catalogue has no Kubernetes version ${wanted}; set spec.version to one of ${listVersions(catalogue)}.`;
    const fault: Fault = { reason: "UnknownVersion", message };
    return live === undefined
      ? { target: undefined, version: undefined, fault }
      : { target: undefined, version: live.version, fault };
  }
  if (live === undefined) return { target, version: target, fault: undefined };
  if (compareKubernetesVersions(target, live.version) < 0) {
    const message = `The cluster is at Kubernetes ${live.version}, and Kubernetes cannot go back to ${target}; set spec.version to ${live.version}.`;
    return { target: undefined, version: live.version, fault: { reason: "DowngradeRefused", message } };
  }
  const step = findStep(facts, target, live.version);
  if (step === undefined) {
    const message = `The way from Kubernetes ${live.version} to ${target} leads over every minor version in between, and the catalogue has no supported one after ${live.version}; ask the platform's operator for it, or set spec.version to one of ${listVersions(catalogue)}.`;
    return { target, version: live.version, fault: { reason: "UnknownVersion", message } };
  }
  return { target, version: live.settled ? step : live.version, fault: undefined };
}

/** The next version on the way to the target; undefined when the catalogue has a gap there. */
function findStep(facts: VersionFacts, target: string, from: string): string | undefined {
  if (from === target || isIncrementalStep(from, target) || facts.chained.includes(`v${target}`))
    return target;
  const current = parseKubernetesVersion(from);
  if (current === undefined) return undefined;
  const next = formatKubernetesVersion({ major: current.major, minor: current.minor + 1 });
  return resolveVersion(facts.catalogue, next);
}

function listVersions(catalogue: VersionCatalogue): string {
  const versions = catalogue.filter((entry) => entry.status === "supported").map((entry) => entry.version);
  return versions.length === 0 ? "none (the catalogue is empty)" : versions.join(", ");
}
