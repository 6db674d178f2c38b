import { hashOf } from "../../shared/controller/applied.ts";
import type { ObservedCluster } from "./observe.ts";

/** Cluster API does not show which gates it has: what it refused is tried again after this time. */
const TRY_AGAIN_AFTER_MS = 600_000;

/**
 * Keeps the clusters whose taints Cluster API refused, so that they are not sent with each reconcile: until the
 * pools with taints or what the class declares change, and for ten minutes. After a restart each is tried once.
 */
export interface TaintRefusals {
  record(key: string, observed: ObservedCluster): void;
  /** In how many ms they are tried again; undefined = they are to be tried. */
  findRetryMs(key: string, observed: ObservedCluster): number | undefined;
  forget(key: string): void;
}

export function createTaintRefusals(nowMs: () => number = () => performance.now()): TaintRefusals {
  const refusals = new Map<string, { basis: string; untilMs: number }>();
  return {
    record(key, observed) {
      refusals.set(key, { basis: basisOf(observed), untilMs: nowMs() + TRY_AGAIN_AFTER_MS });
    },
    findRetryMs(key, observed) {
      const refusal = refusals.get(key);
      if (refusal === undefined) return undefined;
      const leftMs = refusal.untilMs - nowMs();
      if (leftMs > 0 && refusal.basis === basisOf(observed)) return leftMs;
      refusals.delete(key);
      return undefined;
    },
    forget(key) {
      refusals.delete(key);
    },
  };
}

function basisOf({ pools, classes }: ObservedCluster): string {
  const tainted = pools.filter(({ pool }) => (pool.spec.nodeTaints ?? []).length > 0);
  return hashOf({
    pools: tainted.map(({ pool: { metadata, spec } }) => [metadata.uid, spec.nodeTaints]),
    classes: [...classes].flatMap(([name, { variables }]) => (variables.has("nodeTaints") ? [name] : [])),
  });
}
