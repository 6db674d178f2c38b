import { expect, test } from "vitest";
import { measurePool } from "./progress.ts";
import { aPool } from "./testing.ts";

test("joining machines are ordered by age, then by name, whatever their order in the cache", () => {
  const { observed, now } = aPool().withUnhealthyNode();
  const [sample] = observed.machines;
  if (sample === undefined) throw new Error("no machine");
  const join = (name: string, createdAt: string) => ({ ...sample, name, createdAt, node: undefined });
  const machines = [
    join("a", "2026-01-01T00:00:02Z"),
    join("c", "2026-01-01T00:00:01Z"),
    join("b", "2026-01-01T00:00:01Z"),
  ];
  for (const seen of [machines, machines.toReversed()]) {
    const { joining } = measurePool(
      observed.pool,
      undefined,
      seen,
      {
        nodeDegradedAfterSeconds: 300,
        poolDefaults: observed.poolDefaults,
        presentNodes: undefined,
        blocked: false,
      },
      now,
    );
    expect(joining.map(({ name }) => name)).toEqual(["b", "c", "a"]);
  }
});
