import { eq, sql } from "drizzle-orm";
import { pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStack } from "../../e2e/platform/stack/testing.ts";
import { createId } from "../../shared/program/id.ts";
import { connectDatabase, type DatabaseClients } from "./client.ts";
import { uniqueViolationOf } from "./errors.ts";
import { prepareStatement } from "./statement.ts";
import { createTestDatabase, type TestDatabase } from "./testing.ts";

const users = pgTable("users", {
  id: uuid().primaryKey(),
  issuer: text().notNull(),
  email: text(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
});

const selectUser = prepareStatement(["id"], (db, { id }) => db.select().from(users).where(eq(users.id, id)));
const insertUser = prepareStatement(["id", "issuer"], (db, { id, issuer }) =>
  db
    .insert(users)
    .values({ id: sql`${id}`, issuer: sql`${issuer}` })
    .returning({ id: users.id }),
);

let database: TestDatabase;
let clients: DatabaseClients;

beforeAll(async () => {
  database = await createTestDatabase(readStack().databaseUrl);
  clients = connectDatabase(database.url);
});
afterAll(async () => {
  await clients.close();
  await database.drop();
});

test("a statement that is built once answers each call for its own values, as the same query does", async () => {
  const { db } = clients;
  const ids = Array.from({ length: 20 }, createId);
  await Promise.all(ids.map((id) => insertUser(db, { id, issuer: `of ${id}` })));
  const rows = await Promise.all(ids.map((id) => selectUser(db, { id })));
  expect(rows.map(([row]) => row?.issuer)).toEqual(ids.map((id) => `of ${id}`));
  expect(rows[0]).toEqual(
    await db
      .select()
      .from(users)
      .where(eq(users.id, ids[0] ?? "")),
  );
  expect(rows[0]?.[0]).toMatchObject({ email: null, createdAt: expect.any(Date) });
});

test("in a transaction it runs in that one, also with others at once, and is undone with it", async () => {
  const { db } = clients;
  const ids = Array.from({ length: 4 }, createId);
  const seenInside = ids.map((id) =>
    db
      .transaction(async (tx) => {
        await insertUser(tx, { id, issuer: "inside" });
        const [inside, outside] = await Promise.all([selectUser(tx, { id }), selectUser(db, { id })]);
        throw Object.assign(new Error("undone"), { inside, outside });
      })
      .catch((error: { inside: unknown[]; outside: unknown[] }) => error),
  );
  for (const { inside, outside } of await Promise.all(seenInside)) {
    expect(inside).toMatchObject([{ issuer: "inside" }]);
    expect(outside).toEqual([]);
  }
  await expect(selectUser(db, { id: ids[0] ?? "" })).resolves.toEqual([]);
});

test("in a transaction inside a transaction it is undone with the inner one", async () => {
  const [outer, inner] = [createId(), createId()];
  await clients.db.transaction(async (tx) => {
    await insertUser(tx, { id: outer, issuer: "outer" });
    const undone = tx.transaction(async (nested) => {
      await insertUser(nested, { id: inner, issuer: "inner" });
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
  });
  await expect(selectUser(clients.db, { id: outer })).resolves.toHaveLength(1);
  await expect(selectUser(clients.db, { id: inner })).resolves.toEqual([]);
});

test("it fails as the query does: the error says which constraint it was", async () => {
  const id = createId();
  await insertUser(clients.db, { id, issuer: "first" });
  const error = await insertUser(clients.db, { id, issuer: "second" }).catch((reason: unknown) => reason);
  expect(uniqueViolationOf(error)).toBe("users_pkey");
});

test("it is built once, however often it runs", async () => {
  let built = 0;
  const counted = prepareStatement(["id"], (db, { id }) => {
    built += 1;
    return db.select().from(users).where(eq(users.id, id));
  });
  await counted(clients.db, { id: createId() });
  await clients.db.transaction((tx) => counted(tx, { id: createId() }));
  expect(built).toBe(1);
});
