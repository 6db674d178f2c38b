import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { toStorable } from "../../db/storable.ts";
import { isSameState, toAuditedState, trimVersion } from "./audited-state.ts";

/**
 * Of one object that cannot be projected yet; those between the first and the latest are dropped, which the audit log tells.
 * The first and the last are kept in any case: with the cache that is three times what the Kubernetes API stores of it.
 */
const MAX_VERSIONS = 100;
const MAX_CHARACTERS = 200_000;

type Version = Cluster | NodePool;

/** The versions of objects that the watches have delivered and that are not compared for the audit log yet. */
export interface VersionLog {
  /** Adds a version, unless nothing that is audited differs from the one before it. */
  add(version: Version, previous: Version | undefined): void;
  /** Those of one object so far, the oldest first. */
  of(uid: string): readonly Version[];
  /** Removes those that are compared. */
  remove(uid: string, compared: readonly Version[]): void;
}

export function createVersionLog(): VersionLog {
  const versions = new Map<string, Version[]>();
  const sizes = new WeakMap<Version, number>();
  const exceeds = (known: readonly Version[]) =>
    known.length > MAX_VERSIONS ||
    known.reduce((sum, version) => sum + (sizes.get(version) ?? 0), 0) > MAX_CHARACTERS;
  return {
    add(version, previous) {
      if (previous !== undefined && isSameState(toAuditedState(previous), toAuditedState(version))) return;
      const uid = version.metadata.uid ?? "";
      const known = versions.get(uid) ?? [];
      const added = toStorable(trimVersion(version));
      sizes.set(added, JSON.stringify(added).length);
      known.push(added);
      while (known.length > 2 && exceeds(known)) known.splice(1, 1);
      versions.set(uid, known);
    },
    of: (uid) => [...(versions.get(uid) ?? [])],
    remove(uid, compared) {
      const left = (versions.get(uid) ?? []).filter((version) => !compared.includes(version));
      if (left.length === 0) versions.delete(uid);
      else versions.set(uid, left);
    },
  };
}
