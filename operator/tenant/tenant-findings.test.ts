import { expect, test } from "vitest";
import { createAccessHealth, createFindingsStore } from "./tenant-findings.ts";

const AT = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T01:00:00Z";
const NONE = { count: 0, names: [] };
const ONE = { count: 1, names: ["ann"] };

test("only what differs from the last time is reported, with the time of that", () => {
  let now = AT;
  const told: string[] = [];
  const records = createFindingsStore({
    now: () => new Date(now),
    findStatus: () => undefined,
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

test.each<[string, object, number]>([
  ["the same is no news", {}, 0],
  ["other administrators are news", { foreignAdmins: { ...NONE, observedAt: AT } }, 1],
  ["another generation is news", { credentialsGeneration: 0 }, 1],
  ["the end of a failure is news", { conditions: [{ type: "AccessReady", status: "False" }] }, 1],
  ["nothing, all but a success is news", { foreignAdmins: undefined, credentialsGeneration: undefined }, 2],
])("where the status has from an earlier process %s", async (_, other, news) => {
  const told: string[] = [];
  const status = { foreignAdmins: { ...ONE, observedAt: AT }, credentialsGeneration: 1, ...other };
  const [now, findStatus] = [() => new Date(LATER), () => status as never];
  const options = { now, findStatus, onChange: (key: string) => told.push(key) };
  const [records, health] = [createFindingsStore(options), createAccessHealth(options)];
  records.recordAdmins("a/demo", ONE);
  records.recordGeneration("a/demo", 1);
  await health.record("a/demo", "bindings", async () => undefined);
  expect(told).toHaveLength(news);
});
