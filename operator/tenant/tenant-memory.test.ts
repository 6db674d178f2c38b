import { expect, test } from "vitest";
import { createTenantMemory } from "./tenant-memory.ts";

const AT = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T01:00:00Z";
const NONE = { count: 0, names: [] };
const ONE = { count: 1, names: ["ann"] };

test("only what differs from the last time is reported, with the time of that", () => {
  let now = AT;
  const told: string[] = [];
  const records = createTenantMemory({
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
  const outcome = { status: "True", reason: "Registered", message: "", parts: [] } as const;
  records.recordRegistration("b/demo", undefined);
  records.recordRegistration("b/demo", outcome);
  records.recordRegistration("b/demo", { ...outcome });
  expect(told.filter((key) => key === "b/demo")).toHaveLength(1);
  records.recordRegistration("b/demo", undefined);
  expect(records.find("b/demo")).toEqual({ registration: null });
  const expected = { foreignAdmins: { ...ONE, observedAt: LATER }, credentialsGeneration: 1 };
  expect([records.find("a/demo"), told.filter((key) => key === "a/demo").length]).toEqual([expected, 3]);
  records.forget("a/demo");
  expect(records.find("a/demo")).toEqual({});
});
