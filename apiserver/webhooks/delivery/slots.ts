/** The part of the slots that the deliveries of one organization may hold. */
const ORGANIZATION_SHARE = 0.25;

export interface Slots {
  free: () => number;
  /** How many more an organization may hold. */
  roomOf: (orgId: string) => number;
  busyOrgIds: () => string[];
  take: (orgId: string) => void;
  release: (orgId: string) => void;
  /** Resolves when none is held. */
  idle: () => Promise<void>;
}

/**
 * The attempts that this process makes at once. One organization holds a quarter of them at most, so that its endpoints
 * cannot delay those of others, however many of them hang.
 */
export function createSlots(size: number): Slots {
  const held = new Map<string, number>();
  const share = Math.max(1, Math.floor(size * ORGANIZATION_SHARE));
  let idlers: (() => void)[] = [];
  let total = 0;
  return {
    free: () => size - total,
    roomOf: (orgId) => share - (held.get(orgId) ?? 0),
    busyOrgIds: () => [...held].filter(([, count]) => count >= share).map(([orgId]) => orgId),
    take(orgId) {
      total++;
      held.set(orgId, (held.get(orgId) ?? 0) + 1);
    },
    release(orgId) {
      total--;
      const count = (held.get(orgId) ?? 0) - 1;
      if (count > 0) held.set(orgId, count);
      else held.delete(orgId);
      if (total > 0) return;
      for (const resolve of idlers) resolve();
      idlers = [];
    },
    idle: () => (total === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
  };
}
