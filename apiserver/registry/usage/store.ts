import { and, eq, gt, inArray, isNotNull, isNull, lt, or, sql } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Database, Queryable } from "../../db/client.ts";
import { chunk } from "../../db/statement.ts";
import { type IdempotencyKey, insertKeys } from "../../http/idempotency/store.ts";
import type { RegistryLimits } from "../config.ts";
import { registryImages, registryUsage, type UsageRow } from "./table.ts";

/** What an organization's images take; undefined: it was never given a token to push. */
export async function findUsage(db: Queryable, orgId: string): Promise<UsageRow | undefined> {
  const [row] = await db.select().from(registryUsage).where(eq(registryUsage.orgId, orgId));
  return row;
}

/** The figures of all organizations that were ever measured, or that have pushed since. */
export async function listUsage(db: Queryable): Promise<UsageRow[]> {
  const { measuredAt, pushedBytes } = registryUsage;
  return db
    .select()
    .from(registryUsage)
    .where(or(isNotNull(measuredAt), gt(pushedBytes, 0)));
}

/** A blob that was pushed; it may have been there before. */
export interface PushedBlob {
  orgId: string;
  /** Undefined where the registry names none. */
  eventId: string | undefined;
  bytes: number;
}

/** Counts blobs that were pushed, each event once, also when it is delivered again within a day; all of them or none. */
export async function countPushes(db: Database, pushes: readonly PushedBlob[]): Promise<void> {
  await db.transaction(async (tx) => {
    const isNew = await rememberPushes(tx, pushes);
    const bytes = new Map<string, number>();
    for (const push of pushes)
      if (isNew(push)) bytes.set(push.orgId, (bytes.get(push.orgId) ?? 0) + push.bytes);
    await addPushedBytes(tx, bytes);
  });
}

/** Which of these events were not counted before, each once; one without an id always. */
async function rememberPushes(
  tx: Queryable,
  pushes: readonly PushedBlob[],
): Promise<(push: PushedBlob) => boolean> {
  const toKey = ({ orgId }: PushedBlob, key: string) => ({ scope: `registry push ${orgId}`, key });
  const textOf = ({ scope, key }: IdempotencyKey) => `${scope} ${key}`;
  const keys = pushes.flatMap((push) => (push.eventId === undefined ? [] : [toKey(push, push.eventId)]));
  // In one order, so that two statements do not wait for each other.
  const ordered = keys.sort((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
  const fresh = new Set((await insertKeys(tx, ordered)).map(textOf));
  return (push) => push.eventId === undefined || fresh.delete(textOf(toKey(push, push.eventId)));
}

/** Counts blobs that were pushed, by organization, until the next measurement includes them; all of them or none. */
export async function addPushedBytes(tx: Queryable, bytes: ReadonlyMap<string, number>): Promise<void> {
  const rows = [...bytes].map(([orgId, pushedBytes]) => ({ orgId, pushedBytes }));
  // In one order, so that two statements do not wait for each other.
  const counted = rows.filter(({ pushedBytes }) => pushedBytes > 0).sort(byOrganization);
  if (counted.length === 0) return;
  await tx
    .insert(registryUsage)
    .values(counted)
    .onConflictDoUpdate({
      target: registryUsage.orgId,
      set: { pushedBytes: sql`${registryUsage.pushedBytes} + excluded.pushed_bytes` },
    });
}

const byOrganization = (one: { orgId: string }, other: { orgId: string }) =>
  one.orgId < other.orgId ? -1 : 1;

/**
 * Organizations at a limit, by what was measured or pushed since, of which no measurement began after `measuredBefore`.
 */
export async function listFullOrganizations(
  db: Queryable,
  { sizeGiB, tags }: RegistryLimits,
  measuredBefore: Date,
): Promise<string[]> {
  const isFull = or(
    sizeGiB === undefined
      ? undefined
      : sql`${registryUsage.storedBytes} + ${registryUsage.pushedBytes} >= ${sizeGiB * 1024 ** 3}`,
    tags === undefined ? undefined : sql`${registryUsage.tagCount} >= ${tags}`,
  );
  if (isFull === undefined) return [];
  const isOld = or(isNull(registryUsage.measuredAt), lt(registryUsage.measuredAt, measuredBefore));
  const rows = await db.select({ orgId: registryUsage.orgId }).from(registryUsage).where(and(isFull, isOld));
  return rows.map(({ orgId }) => orgId);
}

/** Keeps the blobs of an image. */
export async function insertImage(
  db: Queryable,
  row: { orgId: string; digest: string; blobs: Record<string, number> },
): Promise<void> {
  await db.insert(registryImages).values(row).onConflictDoNothing();
}

/** Forgets the images of an organization that are not in `keep`. */
export async function deleteImagesExcept(
  db: Queryable,
  orgId: string,
  keep: ReadonlySet<string>,
): Promise<void> {
  const rows = await db
    .select({ digest: registryImages.digest })
    .from(registryImages)
    .where(eq(registryImages.orgId, orgId));
  const dropped = rows.map(({ digest }) => digest).filter((digest) => !keep.has(digest));
  for (const digests of chunk(dropped))
    await db
      .delete(registryImages)
      .where(and(eq(registryImages.orgId, orgId), inArray(registryImages.digest, digests)));
}

/**
 * Writes the figures of an organization: the bytes of the images that have been read, each blob once. `before` is its
 * row when the measurement began: what was pushed meanwhile still counts as pushed.
 */
export async function storeMeasurement(
  db: Queryable,
  orgId: string,
  { tagCount, measuredAt, before }: { tagCount: number; measuredAt: Date; before: UsageRow | undefined },
): Promise<void> {
  const storedBytes = sql`(
    select coalesce(sum(blob.size), 0) from (
      select max(entry.value::bigint) as size
      from ${registryImages} as image, jsonb_each_text(image.blobs) as entry
      where image.org_id = ${orgId} group by entry.key
    ) as blob)`;
  const included = before?.pushedBytes ?? 0;
  await db
    .insert(registryUsage)
    .values({ orgId, storedBytes, tagCount, measuredAt })
    .onConflictDoUpdate({
      target: registryUsage.orgId,
      set: {
        storedBytes,
        tagCount,
        measuredAt,
        pushedBytes: sql`greatest(0, ${registryUsage.pushedBytes} - ${included})`,
      },
    });
}

type DigestTable = PgTable & {
  orgId: AnyPgColumn<{ data: string }>;
  digest: AnyPgColumn<{ data: string; notNull: true }>;
};

/** Which of these digests of an organization have a row in the table. */
export async function findKnownDigests(
  db: Queryable,
  table: DigestTable,
  orgId: string,
  digests: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const part of chunk(digests)) {
    const rows = await db
      .select({ digest: table.digest })
      .from(table)
      .where(and(eq(table.orgId, orgId), inArray(table.digest, part)));
    for (const { digest } of rows) found.add(digest);
  }
  return found;
}
