import type { Problem } from "../../shared/controller/conditions.ts";
import {
  compareKubernetesVersions,
  formatKubernetesVersion,
  isIncrementalStep,
  parseKubernetesVersion,
  resolveVersion,
  type VersionCatalogue,
} from "../../shared/crd/kubernetes-version.ts";

/**
 * The full version (no `v`) that a cluster requests. `MAJOR.MINOR` is resolved once and then kept, so that a new patch
 * in the catalogue upgrades no cluster; a full version that was accepted before stays valid when the catalogue drops
 * it. `known` is what it resolved to before, or the one in the topology. Undefined = the catalogue has no such version.
 */
export function resolveTarget(
  requested: string,
  known: string | undefined,
  catalogue: VersionCatalogue,
): string | undefined {
  const kept = known !== undefined && compareKubernetesVersions(known, requested) === 0;
  return kept ? known : resolveVersion(catalogue, requested);
}

export interface VersionFacts {
  /** `spec.version`, or the version accepted before it while the upgrade to it may not begin (see chooseRequested). */
  requested: string;
  /** `status.targetVersion`. */
  lastTarget: string | undefined;
  /** The version in the live topology, and whether everything runs it. */
  topology: { version: string; converged: boolean } | undefined;
  catalogue: VersionCatalogue;
  /** Versions (with `v`) to which the class upgrades in several steps by itself. */
  chained: readonly string[];
}

/**
 * `target`: the full version requested, undefined when the catalogue has none. `version`: what Cluster API gets now;
 * undefined when it gets nothing.
 */
export type VersionChoice =
  | { target: string | undefined; version: string; problem: Problem | undefined }
  | { target: undefined; version: undefined; problem: Problem };

/**
 * The version that Cluster API gets now: the target in steps of one minor, each only when the last one has converged,
 * unless the class chains versions by itself. Until then, and while the request cannot be granted, it is the live
 * version: Cluster API rejects a whole apply for one rejected field, and changes of pools must not be blocked.
 */
export function chooseVersion(facts: VersionFacts): VersionChoice {
  const { requested, topology, catalogue } = facts;
  const target = resolveTarget(requested, facts.lastTarget ?? topology?.version, catalogue);
  if (target === undefined) {
    const message = `The catalogue has no Kubernetes version ${requested}; ${advise(catalogue, topology?.version)}`;
    const problem: Problem = { reason: "UnknownVersion", message };
    return topology === undefined
      ? { target: undefined, version: undefined, problem }
      : { target: undefined, version: topology.version, problem };
  }
  if (topology === undefined) return { target, version: target, problem: undefined };
  if (compareKubernetesVersions(target, topology.version) < 0) {
    const message = `The cluster runs or is getting Kubernetes ${topology.version}, which cannot be downgraded to ${target}; set spec.version to ${topology.version}.`;
    return { target: undefined, version: topology.version, problem: { reason: "DowngradeRefused", message } };
  }
  const next = findNextVersion(facts, target, topology.version);
  if (next === undefined) {
    const message = `An upgrade from Kubernetes ${topology.version} to ${target} needs every minor version in between, and the catalogue has no supported one after ${topology.version}; ask the platform's operator for it, or ${advise(catalogue, topology.version)}`;
    return { target, version: topology.version, problem: { reason: "UnknownVersion", message } };
  }
  return { target, version: topology.converged ? next : topology.version, problem: undefined };
}

/** The next version on the way to the target; undefined when the catalogue has a gap there. */
function findNextVersion(facts: VersionFacts, target: string, from: string): string | undefined {
  if (from === target || isIncrementalStep(from, target) || facts.chained.includes(`v${target}`))
    return target;
  const current = parseKubernetesVersion(from);
  if (current === undefined) return undefined;
  const next = formatKubernetesVersion({ major: current.major, minor: current.minor + 1 });
  return resolveVersion(facts.catalogue, next);
}

/** What to set instead: the version in the topology, or one step from it; every supported version while there is none. */
function advise(catalogue: VersionCatalogue, topologyVersion: string | undefined): string {
  const supported = catalogue.filter(({ status }) => status === "supported").map(({ version }) => version);
  const versions =
    topologyVersion === undefined
      ? supported
      : [topologyVersion, ...supported.filter((version) => isIncrementalStep(topologyVersion, version))];
  if (versions.length === 0) return "the catalogue is empty; ask the platform's operator to fill it.";
  return `set spec.version to ${versions.length === 1 ? "" : "one of "}${versions.join(", ")}.`;
}
