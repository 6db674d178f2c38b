/** What the projection holds of one object, as far as the guard looks at it. */
export interface StoredVersion {
  resourceVersion: bigint;
  /** Set on a tombstone. */
  deletedAt: Date | null;
}

/**
 * Whether a report of an object may replace the row of the same metadata.uid. A tombstone takes nothing; otherwise
 * the higher resourceVersion wins, compared as an integer. `authoritative` marks a quorum read made after the row was
 * seen: it wins also with a lower version, which happens after a restore of the Kubernetes store.
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
