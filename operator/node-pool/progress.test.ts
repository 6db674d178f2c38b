import { expect, test } from "vitest";
import { measurePool } from "./progress.ts";
import { aPool, makeMachine } from "./testing.ts";

test("an autoscaled pool with fewer nodes than its raised minimum is not ready where no autoscaler runs, and says so", () => {
  const running = aPool({ minVCPUs: 2, maxVCPUs: 12 }).withNodes(1).reconciled();
  const pool = running.withSpec({ minVCPUs: 6 }).withNodes(1);
  expect(pool.plan().status).toMatchObject({ phase: "Scaling", nodes: 1 });
  const message = expect.stringMatching(/needs at least 3 nodes, 1 exists\. The platform runs no /);
  expect(pool.condition("Scaling")).toMatchObject({ status: "True", reason: "NotConfigured", message });
});

test("joining machines are ordered by age, then by name, whatever their order in the cache", () => {
  const { observed, now } = aPool();
  const join = (name: string, createdAt: string) => ({ ...makeMachine(name), createdAt, node: undefined });
  const machines = [
    join("a", "2026-01-01T00:00:02Z"),
    join("c", "2026-01-01T00:00:01Z"),
    join("b", "2026-01-01T00:00:01Z"),
  ];
  for (const seen of [machines, machines.toReversed()]) {
    const options = { ...observed, liveReplicas: undefined, keepsLive: false };
    const { joining } = measurePool(observed.pool, undefined, seen, options, now);
    expect(joining.map(({ name }) => name)).toEqual(["b", "c", "a"]);
  }
});
