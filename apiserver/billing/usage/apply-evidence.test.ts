import fc from "fast-check";
import { expect, test } from "vitest";
import {
  applyEvidence,
  type LatestIntervals,
  type LedgerInterval,
  rebuildIntervals,
} from "./apply-evidence.ts";
import type { Evidence } from "./evidence.ts";

const START = Date.UTC(2026, 1, 10);

/** Evidence of a few subjects with times in no order, as clocks that jump give them. */
const evidence: fc.Arbitrary<Evidence[]> = fc.array(
  fc
    .record({
      subject: fc.constantFrom("a", "b"),
      kind: fc.constantFrom("machine" as const, "cluster_resources" as const),
      seconds: fc.integer({ min: -50, max: 50 }),
      quantities: fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 2 })),
    })
    .map(({ subject, kind, seconds, quantities }) => {
      const types = kind === "machine" ? ["vcpu", "memory"] : ["storage_block", "snapshot"];
      const used = types
        .map((type, n) => [type, String(quantities[n])])
        .filter(([, quantity]) => quantity !== "0");
      return {
        id: crypto.randomUUID(),
        organizationId: "o",
        objectUid: "u",
        kind,
        subject,
        sample: {
          clusterId: "c",
          clusterName: "c",
          nodePoolId: null,
          at: new Date(START + seconds * 1000).toISOString(),
          quantities: Object.fromEntries(used),
        },
      };
    }),
  { maxLength: 30 },
);

const newId = () => crypto.randomUUID();
const meterOf = ({ subject, resourceType }: LedgerInterval) => `${subject} ${resourceType}`;
const describe = (interval: LedgerInterval) =>
  [meterOf(interval), interval.quantity, +interval.startedAt, interval.endedAt && +interval.endedAt].join(
    " ",
  );

test("no second of a subject and resource type counts twice, whatever the times say", () => {
  fc.assert(
    fc.property(evidence, (items) => {
      const byMeter = Map.groupBy(rebuildIntervals(items, newId), meterOf);
      const times = [...byMeter.values()].map((intervals) =>
        intervals.flatMap(({ startedAt, endedAt }) => [Number(startedAt), Number(endedAt ?? Infinity)]),
      );
      expect(times).toEqual(times.map((ofMeter) => ofMeter.toSorted((left, right) => left - right)));
    }),
  );
});

test("what is in use at the end is what the last evidence of each kind says", () => {
  fc.assert(
    fc.property(evidence, (items) => {
      const running = rebuildIntervals(items, newId).filter(({ endedAt }) => endedAt === null);
      const last = new Map(items.map((item) => [`${item.subject} ${item.kind}`, item]));
      const expected = [...last.values()].flatMap(({ subject, sample }) =>
        Object.entries(sample.quantities).map(([type, quantity]) => `${subject} ${type} ${quantity}`),
      );
      expect(running.map((it) => `${meterOf(it)} ${it.quantity}`).sort()).toEqual(expected.sort());
    }),
  );
});

test("a rebuild from all evidence gives what its application in any parts gave", () => {
  fc.assert(
    fc.property(
      evidence,
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: 0, max: 30 }),
      (items, one, other) => {
        const stored = new Map<string, LedgerInterval>();
        const [first, second] = [Math.min(one, other), Math.max(one, other)];
        for (const part of [items.slice(0, first), items.slice(first, second), items.slice(second)]) {
          // As the next transaction reads them: copies of what is stored.
          const latest: LatestIntervals = new Map();
          for (const { subject, ...interval } of stored.values())
            latest.set(
              subject,
              (latest.get(subject) ?? new Map()).set(interval.resourceType, { ...interval }),
            );
          const { opened, ended } = applyEvidence(latest, part, newId);
          for (const interval of opened) stored.set(interval.id, interval);
          for (const { id, endedAt } of ended) {
            const interval = stored.get(id);
            if (interval !== undefined) stored.set(id, { ...interval, endedAt });
          }
        }
        const rebuilt = rebuildIntervals(items, newId);
        expect([...stored.values()].map(describe)).toEqual(rebuilt.map(describe));
      },
    ),
  );
});
