import { and, eq, sql } from "drizzle-orm";
import { integer, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { connectDatabase, type Database, type DatabaseClients, type Queryable } from "../db/client.ts";
import { createTestDatabase, type TestDatabase } from "../db/testing.ts";
import { createClaims } from "./claim.ts";

const tasks = pgTable("tasks", {
  owner: text().notNull(),
  number: integer().notNull(),
  result: text(),
  dueAt: timestamp("due_at", { withTimezone: true }),
  claimId: uuid("claim_id"),
});
const claims = createClaims(tasks, ["owner", "number"]);
const LEASE_SECONDS = 60;
const AT = new Date("2026-03-01T10:00:00Z");
const later = (seconds: number) => new Date(AT.getTime() + seconds * 1000);

let database: TestDatabase;
let clients: DatabaseClients;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase(readStack().databaseUrl);
  clients = connectDatabase(database.url);
  ({ db } = clients);
  await db.execute(sql`create table tasks (owner text not null, number integer not null, result text,
    due_at timestamptz, claim_id uuid, primary key (owner, number))`);
});
afterAll(async () => {
  await clients.close();
  await database.drop();
});
/** Two owners with a task of the same number each, both due at `AT`. */
beforeEach(async () => {
  await db.execute(sql`truncate tasks`);
  await db.insert(tasks).values(["one", "two"].map((owner) => ({ owner, number: 1, dueAt: AT })));
});

/** Claims at most one task that is due. */
async function take(at: Date, from: Queryable = db, owner?: string) {
  const due = and(claims.isDue(at), owner === undefined ? undefined : eq(tasks.owner, owner));
  const next = sql`(select ctid from ${tasks} where ${due} order by owner limit 1 for update skip locked)`;
  const [row] = await claims.take(from, sql`ctid = ${next}`, { leaseSeconds: LEASE_SECONDS, at });
  return row;
}

async function takeOne(at = AT) {
  const row = await take(at, db, "one");
  if (row === undefined) throw new Error("no task is due");
  return row;
}

const readOne = async () => (await db.select().from(tasks).where(eq(tasks.owner, "one")))[0];

describe("a claim", () => {
  test("is on a row that is due, and each row is claimed once", async () => {
    expect(await take(later(-1))).toBeUndefined();
    const rows = [await take(AT), await take(AT), await take(AT)];
    expect(rows.map((row) => row?.owner)).toEqual(["one", "two", undefined]);
    expect(rows[0]?.claimId).not.toBe(rows[1]?.claimId);
  });

  test("does not wait for a process that is claiming: it gets another row", async () => {
    await db.transaction(async (tx) => {
      expect((await take(AT, tx))?.owner).toBe("one");
      expect((await take(AT))?.owner).toBe("two");
    });
  });

  test("of a process that dies before its commit claims nothing", async () => {
    const dying = db.transaction(async (tx) => {
      await take(AT, tx);
      const [session] = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
      await db.execute(sql`select pg_terminate_backend(${session?.pid})`);
      await tx.execute(sql`select 1`);
    });
    await expect(dying).rejects.toThrow("the connection to Postgres broke");
    expect((await take(AT))?.owner).toBe("one");
  });

  test("ends by itself after its lease, and not before", async () => {
    const first = await takeOne();
    expect(await take(later(LEASE_SECONDS - 1), db, "one")).toBeUndefined();
    const second = await take(later(LEASE_SECONDS), db, "one");
    expect(second?.claimId).not.toBe(first.claimId);
  });

  test("that is extended lasts as long as was asked for", async () => {
    expect(await claims.extend(db, await takeOne(), 300, { at: later(10) })).toBe(true);
    expect(await take(later(309), db, "one")).toBeUndefined();
    expect(await take(later(310), db, "one")).toBeDefined();
  });

  test("that is postponed ends, and its row is due again after as long as was asked for", async () => {
    const row = await takeOne();
    expect(await claims.postpone(db, row, 30, { at: AT, set: { result: "failed" } })).toBe(true);
    expect(await readOne()).toMatchObject({ claimId: null, result: "failed" });
    expect(await take(later(29), db, "one")).toBeUndefined();
    expect(await take(later(30), db, "one")).toBeDefined();
  });

  test("that is completed leaves a row that is never due", async () => {
    expect(await claims.complete(db, await takeOne(), { result: "done" })).toBe(true);
    expect(await readOne()).toMatchObject({ claimId: null, dueAt: null, result: "done" });
    expect(await take(later(1e6), db, "one")).toBeUndefined();
  });

  test("that is done with deletes its own row alone", async () => {
    expect(await claims.remove(db, await takeOne())).toBe(true);
    expect(await db.select().from(tasks)).toMatchObject([{ owner: "two" }]);
  });
});

type Claimed = Awaited<ReturnType<typeof takeOne>>;
const ENDS: [verb: string, end: (row: Claimed) => Promise<boolean>][] = [
  ["extended", (row) => claims.extend(db, row, 300)],
  ["postponed", (row) => claims.postpone(db, row, 0, { set: { result: "late" } })],
  ["completed", (row) => claims.complete(db, row, { result: "late" })],
  ["removed", (row) => claims.remove(db, row)],
];

describe("what a process writes after its claim has ended is not written", () => {
  test.each(ENDS)("another process has the row: it is not %s", async (_, end) => {
    const lost = await takeOne();
    await takeOne(later(LEASE_SECONDS));
    const row = await readOne();
    expect(await end(lost)).toBe(false);
    expect(await readOne()).toEqual(row);
  });

  test.each(ENDS)("it is completed: it is not %s", async (_, end) => {
    const row = await takeOne();
    await claims.complete(db, row, { result: "done" });
    expect(await end(row)).toBe(false);
    expect(await readOne()).toMatchObject({ result: "done", dueAt: null });
  });
});
