import { asc, eq } from "drizzle-orm";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { NodePool, NodePoolStatus } from "../../../shared/crd/node-pool.ts";
import type { Queryable } from "../../db/client.ts";
import { applyEvidence, type LatestIntervals, type LedgerInterval } from "./apply-evidence.ts";
import type { Evidence, NewEvidence } from "./evidence.ts";
import { usageIntervals } from "./table.ts";
import type { SeenCluster, SeenPool, UseEnd } from "./uses.ts";

export const HOUR_MS = 3_600_000;
export const SIZE = { vcpus: 4, memoryGB: 8, diskGB: 80 };
/** A time of the day that the tests play on. */
export const at = (clock: string) => new Date(`2026-02-10T${clock}Z`);
export const GONE = (clock: string): UseEnd => ({ at: at(clock), reason: "ended" });
export const NOT_SEEN = (clock: string): UseEnd => ({ at: at(clock), reason: "not_seen" });

const PLACE = { uid: "uid", organizationId: "organization", clusterId: "cluster", clusterName: "shop" };

export function seenCluster(
  status: object,
  { plan, end, metadata }: { plan?: string; end?: UseEnd; metadata?: Partial<Cluster["metadata"]> } = {},
): SeenCluster {
  const spec = { version: "1.34.2", publicEndpoint: true, ...(plan !== undefined && { plan }) };
  const own = { name: "shop", ...metadata };
  const object = { apiVersion: "v1", kind: "Cluster", metadata: own, spec, status } as Cluster;
  return { ...PLACE, object, end };
}

export function seenPool(
  status: NodePoolStatus,
  { end, plan }: { end?: UseEnd; plan?: string } = {},
): SeenPool {
  const object = { apiVersion: "v1", kind: "NodePool", metadata: { name: "web" }, status } as NodePool;
  return { ...PLACE, nodePoolId: "pool", plan, object, end };
}

/** A ledger in memory. */
export interface Ledger {
  evidence: Evidence[];
  intervals: LedgerInterval[];
  latest: LatestIntervals;
  /** The subjects that it says are in use. */
  running(): Set<string>;
  observe(find: (latest: LatestIntervals) => NewEvidence[]): void;
  /** `<type> <quantity> <start>-<end>`, sorted. */
  uses(): string[];
}

export function createLedger(): Ledger {
  const evidence: Evidence[] = [];
  const intervals: LedgerInterval[] = [];
  const latest: LatestIntervals = new Map();
  return {
    evidence,
    intervals,
    latest,
    running: () => new Set(intervals.filter(({ endedAt }) => endedAt === null).map(({ subject }) => subject)),
    observe(find) {
      const found = find(latest).map((item) => ({ ...item, id: crypto.randomUUID() }));
      evidence.push(...found);
      const { opened, ended } = applyEvidence(latest, found, () => crypto.randomUUID());
      for (const { id, endedAt } of ended)
        for (const interval of intervals) if (interval.id === id) interval.endedAt = endedAt;
      intervals.push(...opened);
    },
    uses: () => intervals.map(describe).sort(),
  };
}

function describe({ resourceType, quantity, startedAt, endedAt }: LedgerInterval): string {
  const clock = (time: Date | null) => time?.toISOString().slice(11, 19) ?? "";
  return `${resourceType} ${quantity} ${clock(startedAt)}-${clock(endedAt)}`;
}

/** What the ledger has of these types, as `<type> <hours since the start>-<hours since the end>`. */
export async function readHours(
  db: Queryable,
  organizationId: string,
  types: readonly string[],
): Promise<string[]> {
  const rows = await db
    .select()
    .from(usageIntervals)
    .where(eq(usageIntervals.organizationId, organizationId))
    .orderBy(asc(usageIntervals.resourceType), asc(usageIntervals.startedAt), asc(usageIntervals.endedAt));
  const hours = (at: Date | null) =>
    at === null ? "" : String(Math.round((Date.now() - at.getTime()) / HOUR_MS));
  return rows
    .filter(({ resourceType }) => types.includes(resourceType))
    .map(({ resourceType, startedAt, endedAt }) => `${resourceType} ${hours(startedAt)}-${hours(endedAt)}`);
}
