import { expect, test } from "vitest";
import { composeForeignAdmins, createTenantRecords } from "./tenant-records.ts";

const AT = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T01:00:00Z";
const NONE = { count: 0, names: [] };
const ONE = { count: 1, names: ["ann"] };

test("only what differs from the last time is told, with the time of that", () => {
  let now = AT;
  const told: string[] = [];
  const records = createTenantRecords({
    now: () => new Date(now),
    onChange: (key) => told.push(key),
  });
  records.recordAdmins("a/demo", NONE);
  now = LATER;
  records.recordAdmins("a/demo", NONE);
  expect([records.find("a/demo").foreignAdmins, told]).toEqual([{ ...NONE, observedAt: AT }, ["a/demo"]]);
  records.recordAdmins("a/demo", ONE);
  records.recordGeneration("a/demo", 1);
  records.recordGeneration("a/demo", 1);
  const expected = { foreignAdmins: { ...ONE, observedAt: LATER }, credentialsGeneration: 1 };
  expect([records.find("a/demo"), told.length]).toEqual([expected, 3]);
  records.forget("a/demo");
  expect(records.find("a/demo")).toEqual({});
});

test.each([
  [
    "what a new process has not read stays",
    { ...ONE, observedAt: AT },
    undefined,
    { ...ONE, observedAt: AT },
  ],
  [
    "what is the same keeps its time",
    { ...ONE, observedAt: AT },
    { ...ONE, observedAt: LATER },
    { ...ONE, observedAt: AT },
  ],
  [
    "what differs has its own",
    { ...ONE, observedAt: AT },
    { ...NONE, observedAt: LATER },
    { ...NONE, observedAt: LATER },
  ],
  ["nothing is said before it was read", undefined, undefined, undefined],
])("the administrators in a status: %s", (_, last, found, expected) => {
  expect(composeForeignAdmins(last, found)).toEqual(expected);
});
