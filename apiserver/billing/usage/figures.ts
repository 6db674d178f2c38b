import { LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import { type StorageInventory, storageInventoryKind } from "../../../shared/crd/storage-inventory.ts";
import { createId } from "../../../shared/program/id.ts";
import type { Deps } from "../../deps.ts";
import { organizationNamespace } from "../../organizations/index.ts";
import { applyEvidence, type LatestIntervals, latestIntervalsOf } from "./apply-evidence.ts";
import { composeEvidence, type EndReason, type Metered, type NewEvidence } from "./evidence.ts";
import {
  lockLedger,
  readFigureTimes,
  readLatestIntervals,
  upsertFigureTimes,
  writeLedger,
} from "./ledger-store.ts";
import type { LedgerDeps } from "./round.ts";
import { isInUse, isNothing, type Use } from "./uses.ts";

/**
 * The figure of each organization, by its id, with the uid of the object that has it; of the registry, that id again.
 */
type Figures = Map<string, { objectUid: string; figure: Figure }>;

/** Writes to the ledger what the storage reports of each organization's shared storage. */
export async function followSharedStorage(
  { kube, ...deps }: LedgerDeps & Pick<Deps, "kube">,
  signal: AbortSignal,
): Promise<void> {
  const inventories = await kube.listAll(storageInventoryKind, { signal });
  await recordFigures(deps, "shared_storage", readSharedStorage(inventories));
}

/** The bytes that the images of each organization take; null: not measured yet. */
export type ListStoredImages = () => Promise<
  readonly { orgId: string; storedBytes: number; measuredAt: Date | null }[]
>;

/** Writes to the ledger what the images of each organization take. */
export async function followRegistry(deps: LedgerDeps, listStoredImages: ListStoredImages): Promise<void> {
  const rows = await listStoredImages();
  const figures: Figures = new Map(
    rows.flatMap(({ orgId, storedBytes, measuredAt }) =>
      measuredAt === null
        ? []
        : [[orgId, { objectUid: orgId, figure: { use: { registry: storedBytes }, measuredAt } }] as const],
    ),
  );
  await recordFigures(deps, "registry", figures);
}

function readSharedStorage(inventories: readonly StorageInventory[]): Figures {
  return new Map(
    inventories.flatMap(({ metadata, status }) => {
      const organizationId = metadata.labels?.[LABEL_ORG_ID] ?? "";
      const { usedBytes, observedAt } = status ?? {};
      if (metadata.namespace !== organizationNamespace(organizationId)) return [];
      if (usedBytes === undefined || observedAt === undefined) return [];
      const figure = { use: { storage_rwx: usedBytes }, measuredAt: new Date(observedAt) };
      return [[organizationId, { objectUid: metadata.uid ?? "", figure }] as const];
    }),
  );
}

async function recordFigures(
  deps: LedgerDeps,
  kind: "shared_storage" | "registry",
  figures: Figures,
): Promise<void> {
  const now = deps.now();
  const evidence = await deps.db.transaction(async (tx) => {
    await lockLedger(tx);
    const times = await readFigureTimes(tx, kind);
    const subjects = [...new Set([...figures.keys(), ...times.keys()])];
    const latest = await readLatestIntervals(tx, subjects);
    const found = subjects.flatMap((subject) => {
      const { figure, objectUid = "" } = figures.get(subject) ?? {};
      const place = { clusterId: null, clusterName: null, nodePoolId: null };
      const metered: Metered = { organizationId: subject, kind, subject, objectUid, ...place };
      return findFigureEvidence(metered, latest, { figure, lastMeasuredAt: times.get(subject), now });
    });
    const withIds = found.map((item) => ({ ...item, id: createId() }));
    await writeLedger(tx, withIds, applyEvidence(latest, withIds, createId), now);
    await upsertFigureTimes(tx, kind, newTimes(figures, times, now));
    return withIds;
  });
  deps.ledgerMetrics.onEvidence(evidence);
}

function newTimes(figures: Figures, known: ReadonlyMap<string, Date>, now: Date): Map<string, Date> {
  return new Map(
    [...figures].flatMap(([subject, { figure }]) => {
      const before = known.get(subject);
      const measuredAt = newestFigureTime(figure, before, now);
      return measuredAt === undefined || measuredAt === before ? [] : [[subject, measuredAt] as const];
    }),
  );
}

/** A figure holds until the next one, but for no longer than this. */
const HOLDS_MS = 24 * 3_600_000;

/** A quantity that was measured. */
export interface Figure {
  use: Use;
  measuredAt: Date;
}

/** The time of the newest figure of a subject after this one was checked. A time in the future is taken as now. */
export function newestFigureTime(
  figure: Figure | undefined,
  lastMeasuredAt: Date | undefined,
  now: Date,
): Date | undefined {
  if (figure === undefined) return lastMeasuredAt;
  const measuredAt = earliest(figure.measuredAt, now);
  return lastMeasuredAt !== undefined && measuredAt <= lastMeasuredAt ? lastMeasuredAt : measuredAt;
}

/**
 * What a figure shows that the ledger does not have yet. undefined: there is no figure any more, and what was in use
 * ended now. `lastMeasuredAt` is the time of the newest figure that was checked before.
 */
export function findFigureEvidence(
  metered: Metered,
  latest: LatestIntervals,
  {
    figure,
    lastMeasuredAt,
    now,
  }: { figure: Figure | undefined; lastMeasuredAt: Date | undefined; now: Date },
): NewEvidence[] {
  const measuredAt = newestFigureTime(figure, lastMeasuredAt, now);
  const next = measuredAt === lastMeasuredAt || measuredAt === undefined ? undefined : measuredAt;
  const known = latestIntervalsOf(latest, metered.kind, metered.subject);
  const evidence: NewEvidence[] = [];
  let isRunning = known.some(({ endedAt }) => endedAt === null);
  const end = (at: Date, reason: EndReason) => {
    evidence.push(composeEvidence(metered, at, {}, reason));
    isRunning = false;
  };

  const expiry = expiryOf(lastMeasuredAt);
  if (isRunning && expiry <= (next ?? now)) end(expiry, "expired");
  if (isRunning && figure === undefined) end(now, "ended");
  if (next === undefined || figure === undefined) return evidence;
  const isSame = isRunning ? isInUse(known, figure.use) : isNothing(figure.use);
  if (!isSame) evidence.push(composeEvidence(metered, next, figure.use));
  return evidence;
}

/** A use that no figure is known of has expired. */
function expiryOf(measuredAt: Date | undefined): Date {
  return new Date((measuredAt?.getTime() ?? -HOLDS_MS) + HOLDS_MS);
}

function earliest(one: Date, other: Date): Date {
  return one < other ? one : other;
}
