import { and, asc, desc, eq, gt, lt, not, notExists, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { createId } from "../../../shared/program/id.ts";
import type { AuditActor } from "../../audit/table.ts";
import type { Queryable } from "../../db/client.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { formatMicroEuros, parseMicroEuros } from "../money.ts";
import { packageTerms } from "./table.ts";

/** What a package costs and contains. */
export interface Package {
  /** For a whole month, in millionths of a euro. */
  priceMicroEuros: bigint;
  controlPlaneReplicas: number;
  controlPlanes: number;
  vcpus: number;
  memoryGB: number;
  diskGB: number;
  retired: boolean;
}

/** The terms of a package that hold since `effectiveFrom`. */
export interface PackageTerms extends Package {
  id: string;
  slug: string;
  effectiveFrom: Date;
  changedBy: AuditActor;
}

const later = alias(packageTerms, "later");
const isLater = and(eq(later.slug, packageTerms.slug), gt(later.effectiveFrom, packageTerms.effectiveFrom));

/** Until the end of the transaction no other one changes a package. */
export async function lockPackages(tx: Queryable): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina packages', 0))`);
}

/** Until the end of the transaction no other one changes a package; several can read them at once. */
export async function sharePackages(tx: Queryable): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(hashtextextended('marina packages', 0))`);
}

/** The terms in force of every package, the cheapest first; read from the table each time. */
export async function readPackages(db: Queryable): Promise<PackageTerms[]> {
  const rows = await db
    .select()
    .from(packageTerms)
    .where(notExists(db.select().from(later).where(isLater)))
    .orderBy(asc(packageTerms.monthlyPriceEUR), asc(packageTerms.slug));
  return rows.map(toTerms);
}

/** All terms of all packages that took effect before `end`, the oldest first. */
export async function readPackageHistory(db: Queryable, end: Date): Promise<PackageTerms[]> {
  const rows = await db
    .select()
    .from(packageTerms)
    .where(lt(packageTerms.effectiveFrom, end))
    .orderBy(asc(packageTerms.effectiveFrom));
  return rows.map(toTerms);
}

/** The terms in force of one package; undefined when there is none. */
export async function readPackage(db: Queryable, slug: string): Promise<PackageTerms | undefined> {
  const [row] = await db
    .select()
    .from(packageTerms)
    .where(eq(packageTerms.slug, slug))
    .orderBy(desc(packageTerms.effectiveFrom))
    .limit(1);
  return row && toTerms(row);
}

/** Since when each of the packages that are retired now has been so. */
export async function readRetirements(db: Queryable): Promise<Map<string, Date>> {
  const rows = await db
    .select({
      slug: packageTerms.slug,
      at: sql<Date>`min(${packageTerms.effectiveFrom})`.mapWith(packageTerms.effectiveFrom),
    })
    .from(packageTerms)
    .where(
      and(
        packageTerms.retired,
        notExists(
          db
            .select()
            .from(later)
            .where(and(isLater, not(later.retired))),
        ),
      ),
    )
    .groupBy(packageTerms.slug);
  return new Map(rows.map(({ slug, at }) => [slug, at]));
}

/** Adds terms that hold from `effectiveFrom`. */
export async function insertPackageTerms(tx: Queryable, terms: Omit<PackageTerms, "id">): Promise<void> {
  const { priceMicroEuros, ...row } = terms;
  await tx
    .insert(packageTerms)
    .values({ ...row, id: createId(), monthlyPriceEUR: formatMicroEuros(priceMicroEuros) });
}

/** A page of all terms that a package ever had, the newest first. */
export async function listPackageTerms(
  db: Queryable,
  slug: string,
  { cursor, limit }: PageRequest,
): Promise<PackageTerms[]> {
  const rows = await db
    .select()
    .from(packageTerms)
    .where(and(eq(packageTerms.slug, slug), cursor === undefined ? undefined : lt(packageTerms.id, cursor)))
    .orderBy(desc(packageTerms.id))
    .limit(limit + 1);
  return rows.map(toTerms);
}

function toTerms({ monthlyPriceEUR, ...row }: typeof packageTerms.$inferSelect): PackageTerms {
  return { ...row, priceMicroEuros: parseMicroEuros(monthlyPriceEUR) };
}
