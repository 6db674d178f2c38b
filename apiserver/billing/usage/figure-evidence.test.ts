import { expect, test } from "vitest";
import type { Metered } from "./evidence.ts";
import { findFigureEvidence, newestFigureTime } from "./figures.ts";
import { createLedger } from "./testing.ts";

/** An instant `hours` after the start. */
const hour = (hours: number) => new Date(Date.UTC(2026, 1, 10) + hours * 3_600_000);
const METERED: Metered = {
  organizationId: "organization",
  kind: "shared_storage",
  subject: "organization",
  objectUid: "inventory",
  clusterId: null,
  clusterName: null,
  nodePoolId: null,
};

/** What a look at `now` finds: a figure in bytes, measured at some hour; null: no figure. */
type Look = [now: number, figure: [bytes: number, measuredAt: number] | null];

test.each<[string, Look[], string[]]>([
  ["the first one counts from when it was measured", [[2, [7, 1]]], ["7 from 1"]],
  [
    "the same figure, measured again, goes on",
    [
      [2, [7, 1]],
      [20, [7, 19]],
      [40, [7, 39]],
    ],
    ["7 from 1"],
  ],
  [
    "another one counts from when it was measured",
    [
      [2, [7, 1]],
      [6, [9, 5]],
    ],
    ["7 from 1 to 5", "9 from 5"],
  ],
  [
    "0 ends it",
    [
      [2, [7, 1]],
      [6, [0, 5]],
    ],
    ["7 from 1 to 5"],
  ],
  ["0 is nothing", [[2, [0, 1]]], []],
  [
    "it holds for 24 h",
    [
      [2, [7, 1]],
      [24.9, [7, 1]],
    ],
    ["7 from 1"],
  ],
  [
    "it holds for no longer",
    [
      [2, [7, 1]],
      [25, [7, 1]],
      [30, [7, 1]],
    ],
    ["7 from 1 to 25"],
  ],
  [
    "after a gap it counts from the next one",
    [
      [2, [7, 1]],
      [30, [7, 29]],
    ],
    ["7 from 1 to 25", "7 from 29"],
  ],
  [
    "one that is first seen late held for 24 h as well",
    [
      [30, [7, 1]],
      [31, [7, 1]],
    ],
    ["7 from 1 to 25"],
  ],
  [
    "an older one changes nothing",
    [
      [6, [7, 5]],
      [7, [9, 3]],
    ],
    ["7 from 5"],
  ],
  [
    "one of the future is one of now",
    [
      [2, [7, 90]],
      [3, [9, 90]],
    ],
    ["7 from 2 to 3", "9 from 3"],
  ],
  [
    "a clock that is set back bills nothing twice",
    [
      [9, [7, 9]],
      [5, [9, 5]],
      [10, [9, 10]],
    ],
    ["7 from 9 to 10", "9 from 10"],
  ],
  [
    "without a figure it ends",
    [
      [2, [7, 1]],
      [6, null],
      [7, null],
    ],
    ["7 from 1 to 6"],
  ],
  [
    "without a figure for long it ends after 24 h",
    [
      [2, [7, 1]],
      [60, null],
    ],
    ["7 from 1 to 25"],
  ],
])("of figures: %s", (_name, looks, expected) => {
  const ledger = createLedger();
  let lastMeasuredAt: Date | undefined;
  for (const [now, look] of looks) {
    const figure = look === null ? undefined : { use: { storage_rwx: look[0] }, measuredAt: hour(look[1]) };
    const input = { figure, lastMeasuredAt, now: hour(now) };
    ledger.observe((latest) => findFigureEvidence(METERED, latest, input));
    lastMeasuredAt = newestFigureTime(figure, lastMeasuredAt, hour(now));
  }
  const hoursOf = (at: Date | null) =>
    at === null ? "" : ` ${(at.getTime() - hour(0).getTime()) / 3_600_000}`;
  expect(
    ledger.intervals.map(
      ({ quantity, startedAt, endedAt }) =>
        `${quantity} from${hoursOf(startedAt)}${endedAt === null ? "" : ` to${hoursOf(endedAt)}`}`,
    ),
  ).toEqual(expected);
});
