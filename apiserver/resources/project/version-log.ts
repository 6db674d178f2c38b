import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { toStorable } from "../../db/storable.ts";
import { isSameState, toAuditedState, trimVersion } from "./audited-state.ts";

/** Of one object that cannot be projected yet; those between the first and the latest are dropped, which the log tells. */
const MAX_VERSIONS = 100;

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
  return {
    add(version, previous) {
      if (previous !== undefined && isSameState(toAuditedState(previous), toAuditedState(version))) return;
      const uid = version.metadata.uid ?? "";
      const known = versions.get(uid) ?? [];
      known.push(toStorable(trimVersion(version)));
      if (known.length > MAX_VERSIONS) known.splice(1, 1);
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
