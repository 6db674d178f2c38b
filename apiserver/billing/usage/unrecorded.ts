import { UNRECORDED_CONFIG_MAP } from "../../../shared/crd/names.ts";
import { readUnrecorded, type UnrecordedUse } from "../../../shared/crd/published-config.ts";
import { configMapKind } from "../../../shared/kube/core-kinds.ts";
import { createId } from "../../../shared/program/id.ts";
import { chunk } from "../../db/statement.ts";
import type { ConfigMapDeps } from "../../resources/platform-config.ts";
import {
  applyEvidence,
  type LatestInterval,
  type LatestIntervals,
  latestIntervalsOf,
} from "./apply-evidence.ts";
import { composeEvidence, type EvidenceKind, type Metered, type NewEvidence } from "./evidence.ts";
import {
  listRunningWithoutObject,
  lockLedger,
  readLastMetered,
  readLatestIntervals,
  readListedMachines,
  readSeenAt,
  writeLedger,
} from "./ledger-store.ts";
import type { LedgerDeps } from "./round.ts";

const KINDS: Record<UnrecordedUse["kind"], EvidenceKind[]> = {
  cluster: ["control_plane", "cluster_resources"],
  machine: ["machine"],
};
const METERED_KINDS = Object.values(KINDS).flat();

/**
 * Goes on metering what runs without the Cluster or NodePool that recorded it, as the operator publishes it: from the
 * end that the ledger has of it, with what it used then, until it ends. What ended before its object did stays ended.
 * Safe to run twice, also at once. Rejects where the ConfigMap cannot be read.
 */
export async function followUnrecorded(deps: LedgerDeps & ConfigMapDeps): Promise<void> {
  const { db, now } = deps;
  for (const uses of chunk(await readPublished(deps))) {
    const evidence = await db.transaction(async (tx) => {
      await lockLedger(tx);
      const subjects = uses.map(({ subject }) => subject);
      const [lastMetered, latest] = [
        await readLastMetered(tx, subjects, METERED_KINDS),
        await readLatestIntervals(tx, subjects),
      ];
      const found = uses.flatMap((use) =>
        lastMetered
          .filter(({ kind, subject }) => subject === use.subject && KINDS[use.kind].includes(kind))
          .flatMap((metered) => findUnrecordedEvidence(metered, latest, use)),
      );
      const withIds = found.map((item) => ({ ...item, id: createId() }));
      await writeLedger(tx, withIds, applyEvidence(latest, withIds, createId), now());
      return withIds;
    });
    deps.ledgerMetrics.onEvidence(evidence);
  }
}

/**
 * Ends what is metered of no Cluster or NodePool that exists, where no node pool lists it and the operator does not
 * publish it: an end is published for a day only. Safe to run twice. Rejects where the ConfigMap cannot be read.
 */
export async function endUnpublished(deps: LedgerDeps & ConfigMapDeps): Promise<void> {
  const published = new Set((await readPublished(deps)).map(({ subject }) => subject));
  const evidence = await deps.db.transaction(async (tx) => {
    await lockLedger(tx);
    const now = deps.now();
    const seenAt = (await readSeenAt(tx)) ?? now;
    const unpublished = (await listRunningWithoutObject(tx, METERED_KINDS)).filter(
      ({ subject }) => !published.has(subject),
    );
    const listed = await readListedMachines(tx, unpublished);
    const left = unpublished.filter(({ subject }) => !listed.has(subject));
    const latest = await readLatestIntervals(
      tx,
      left.map(({ subject }) => subject),
    );
    const ended = left.map((metered) => ({
      ...composeEvidence(metered, seenAt, {}, "not_seen"),
      id: createId(),
    }));
    await writeLedger(tx, ended, applyEvidence(latest, ended, createId), now);
    return ended;
  });
  deps.ledgerMetrics.onEvidence(evidence);
}

async function readPublished({ kube, config }: ConfigMapDeps): Promise<UnrecordedUse[]> {
  return readUnrecorded(await kube.get(configMapKind, config.platformNamespace, UNRECORDED_CONFIG_MAP));
}

/** Evidence of a use that no object records, as far as the ledger does not have it: no second of it is left out. */
function findUnrecordedEvidence(
  metered: Metered,
  latest: LatestIntervals,
  { goneAt }: Pick<UnrecordedUse, "goneAt">,
): NewEvidence[] {
  const known = latestIntervalsOf(latest, metered.kind, metered.subject);
  const end = goneAt === undefined ? [] : [composeEvidence(metered, new Date(goneAt), {}, "ended")];
  if (known.some(({ endedAt }) => endedAt === null)) return end;
  const lostMs = findLostMs(known, latest.get(metered.subject)?.get("control_plane"));
  const lost = known.filter((interval) => isLostAt(lostMs, interval));
  if (lost.length === 0 || (goneAt !== undefined && Date.parse(goneAt) <= lostMs)) return [];
  const use = Object.fromEntries(lost.map(({ resourceType, quantity }) => [resourceType, Number(quantity)]));
  return [composeEvidence(metered, new Date(lostMs), use), ...end];
}

/** When the object of these intervals was lost: a control plane ends with its Cluster, and is resumed from there. */
function findLostMs(known: readonly LatestInterval[], controlPlane: LatestInterval | undefined): number {
  const ends = controlPlane === undefined ? known : [controlPlane];
  return Math.max(...ends.map(({ startedAt, endedAt }) => (endedAt ?? startedAt).getTime()));
}

/** Whether a use ended with its object. One that began after that instant, by another clock, ended as it began. */
function isLostAt(lostMs: number, { startedAt, endedAt }: LatestInterval): boolean {
  const endMs = endedAt?.getTime() ?? 0;
  return endMs === lostMs || (endMs > lostMs && endMs === startedAt.getTime());
}
