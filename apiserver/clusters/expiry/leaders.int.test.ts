import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { createKeyedSlots } from "../../../shared/program/limits.ts";
import { auditLog } from "../../audit/table.ts";
import type { Database } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { setUpTestClusters, waitForFinalizer } from "../../testing/service.ts";
import { expiryJobs } from "./jobs.ts";

const HOUR_MS = 3_600_000;

const api = setUpTestClusters();

/** A run of the job in a replica of its own. */
async function run(now: Date, changes: Partial<Deps> = {}): Promise<void> {
  const deps = { ...api.deps, writeLocks: createKeyedSlots(1), now: () => now, ...changes };
  for (const job of expiryJobs(deps)) await job.run(new AbortController().signal);
}

/** An object whose methods, and those of what they return, are those of `target`; `before` comes before what is awaited of it. */
function delay<T extends object>(target: T, before: () => Promise<void>): T {
  return new Proxy(target, {
    get(_, key) {
      // biome-ignore lint/suspicious/noExplicitAny: any method of a query
      const value = (target as any)[key];
      if (typeof value !== "function") return value;
      if (key === "then") return (...then: [never, never]) => before().then(() => value.apply(target, then));
      return (...args: unknown[]) => {
        const result = value.apply(target, args);
        return typeof result === "object" && result !== null ? delay(result, before) : result;
      };
    },
  });
}

/** A database in whose transactions `meanwhile` runs before the second read that follows a statement as text, which takes a lock. */
function pausedBetweenReads(db: Database, meanwhile: () => Promise<unknown>): Database {
  const pauseIn = <Tx extends object>(tx: Tx): Tx => {
    let reads: number | undefined;
    return new Proxy(tx, {
      get(_, key) {
        // biome-ignore lint/suspicious/noExplicitAny: any method of a transaction
        const value = (tx as any)[key];
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          const result = value.apply(tx, args);
          if (key === "execute") reads = 0;
          if (key !== "select" || reads === undefined) return result;
          return delay(result, async () => {
            reads = (reads ?? 0) + 1;
            if (reads === 2) await meanwhile();
          });
        };
      },
    });
  };
  const transaction: Database["transaction"] = (work, config) =>
    db.transaction((tx) => work(pauseIn(tx)), config);
  return new Proxy(db, {
    get: (target, key) => (key === "transaction" ? transaction : Reflect.get(target, key)),
  });
}

test("a deletion that another leader completes between two reads is decided and audited once", async () => {
  const end = new Date(Date.now() + 30 * 24 * HOUR_MS);
  const body = { name: "Overlapping", k8s_version: "1.34", plan: "scale", expires_at: end };
  const { body: record } = await api.request("POST", api.clusters, { body });
  await waitForFinalizer(api, api.orgId, record.id);
  await run(new Date(end.getTime() - HOUR_MS));

  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const remove: KubeClient["delete"] = async (...args) => {
    begun.resolve();
    await mayEnd.promise;
    await api.deps.kube.delete(...args);
  };
  const first = run(end, { kube: { ...api.deps.kube, delete: remove } });
  await begun.promise;
  const completeFirst = () => {
    mayEnd.resolve();
    return first;
  };
  await run(end, { db: pausedBetweenReads(api.deps.db, completeFirst) });
  await completeFirst();

  const isDeletion = and(eq(auditLog.targetId, record.id), eq(auditLog.action, "cluster.delete"));
  expect(await api.deps.db.select().from(auditLog).where(isDeletion)).toHaveLength(1);
});
