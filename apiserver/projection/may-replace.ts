/** The stored version of one object. */
export interface StoredVersion {
  resourceVersion: bigint;
  /** Set on a tombstone. */
  deletedAt: Date | null;
}

/**
 * Whether an observation may replace the row of the same metadata.uid. A tombstone is never replaced; otherwise the
 * higher resourceVersion wins, compared as an integer. `authoritative` marks a quorum read made after the row was read:
 * it also wins with a lower version, which occurs after a restore of etcd.
 */
export function mayReplace(
  stored: StoredVersion | undefined,
  incoming: { resourceVersion: bigint; authoritative: boolean },
): boolean {
  if (stored === undefined) return true;
  if (stored.deletedAt !== null) return false;
  if (incoming.resourceVersion === stored.resourceVersion) return false;
  return incoming.authoritative || incoming.resourceVersion > stored.resourceVersion;
}
