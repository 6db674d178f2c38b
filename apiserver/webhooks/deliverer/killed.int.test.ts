import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database, Queryable } from "../../db/client.ts";
import { emitWebhookEvents } from "../../events/emit.ts";
import { webhookEvents } from "../../events/table.ts";
import { aReplacement } from "../testing.ts";
import { type ClaimedDelivery, claimDeliveries } from "./claim-store.ts";
import { fanOutEvents } from "./fan-out-store.ts";
import { saveAttemptResults } from "./result-store.ts";
import { SUCCESS, startTestDeliveries, type TestDeliveries } from "./testing.ts";

let deliveries: TestDeliveries;
beforeAll(async () => {
  deliveries = await startTestDeliveries();
});
afterAll(() => deliveries.end());

const STATEMENTS = ["select", "insert", "update", "delete", "execute"];
const KILLED = new Error("killed");

/**
 * A database whose session Postgres ends, as it does when the process is killed, right before the statement of this number; the
 * commit is the last one.
 */
function killBefore(db: Database, statement: number): Database {
  let sent = 0;
  const transaction = (work: (tx: Queryable) => Promise<unknown>) =>
    db.transaction(async (tx) => {
      const [session] = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
      try {
        const result = await work(
          new Proxy(tx, {
            get(target, name) {
              const value: unknown = Reflect.get(target, name);
              if (!STATEMENTS.includes(String(name)) || typeof value !== "function") return value;
              if (++sent === statement) throw KILLED;
              return value.bind(target);
            },
          }),
        );
        if (++sent === statement) throw KILLED;
        return result;
      } catch (error) {
        if (error === KILLED) await db.execute(sql`select pg_terminate_backend(${session?.pid})`);
        throw error;
      }
    });
  return new Proxy(db, {
    get: (target, name) => (name === "transaction" ? transaction : Reflect.get(target, name)),
  });
}

interface Subject {
  orgId: string;
  webhookId: string;
  claimed: ClaimedDelivery[];
}

interface Step {
  name: string;
  run: (db: Database, subject: Subject) => Promise<unknown>;
  /** Statements with the commit. */
  statements: number;
}

const STEPS: Step[] = [
  {
    name: "cause",
    run: (db, { orgId }) => db.transaction((tx) => emitWebhookEvents(tx, [aReplacement({ id: orgId })])),
    statements: 3,
  },
  { name: "fan-out", run: (db) => fanOutEvents(db), statements: 7 },
  {
    name: "claim",
    async run(db, subject) {
      const options = { limit: 8, endpointConcurrency: 8, orgCapacityOf: () => 8, busyOrgIds: [] };
      subject.claimed = await claimDeliveries(db, options);
    },
    statements: 4,
  },
  {
    name: "result",
    run: (db, { claimed }) =>
      saveAttemptResults(
        db,
        claimed.map((delivery) => ({ delivery, outcome: SUCCESS })),
      ),
    statements: 4,
  },
];

/** All that is stored of the events of an organization, and of its webhook. */
async function readAll({ orgId, webhookId }: Subject) {
  const [events, made, queue] = await Promise.all([
    deliveries.db.select().from(webhookEvents).where(eq(webhookEvents.orgId, orgId)),
    deliveries.findDeliveries(webhookId),
    deliveries.findQueue(webhookId),
  ]);
  const attempts = await Promise.all(made.map(({ id }) => deliveries.findAttempts(id)));
  return { events, made, queue, attempts };
}

test.each(STEPS)(
  "a process that is killed before any statement of a $name, or before its commit, loses nothing and doubles nothing",
  async (step) => {
    const orgId = await deliveries.addOrganization();
    const webhookId = await deliveries.addWebhook(orgId, "https://receiver.example/hook");
    const subject: Subject = { orgId, webhookId, claimed: [] };
    const index = STEPS.indexOf(step);
    for (const { run } of STEPS.slice(0, index)) await run(deliveries.db, subject);
    const before = await readAll(subject);
    const runKilled = (statement: number) =>
      step.run(killBefore(deliveries.db, statement), subject).then(
        () => "done",
        () => "killed",
      );
    let killed = 0;
    for (; killed < 20 && (await runKilled(killed + 1)) === "killed"; killed += 1)
      expect(await readAll(subject)).toEqual(before);
    expect(killed).toBe(step.statements);
    for (const { run } of STEPS.slice(index + 1)) await run(deliveries.db, subject);
    const { events, made, queue, attempts } = await readAll(subject);
    expect(events).toMatchObject([{ pendingWebhookIds: null }]);
    expect(made).toMatchObject([{ eventId: events[0]?.id, status: "delivered", attempts: 1 }]);
    expect(attempts).toMatchObject([[{ number: 1, statusCode: 200 }]]);
    expect(queue).toMatchObject({ claims: [], consecutiveFailures: 0 });
  },
);
