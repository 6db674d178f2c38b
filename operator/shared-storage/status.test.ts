import { describe, expect, test } from "vitest";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import type { StorageInventoryStatus } from "../../shared/crd/storage-inventory.ts";
import { composeChangeEvent, composeInventoryEvents } from "./controller.ts";
import { StorageError } from "./driver.ts";
import { composeInventoryStatus, type InventoryOutcome } from "./status.ts";
import { anInventory, GIB, ORG_ID } from "./testing.ts";

const START = new Date("2026-03-01T12:00:00Z");
const minutesLater = (minutes: number) => new Date(START.getTime() + minutes * 60_000);

function found(observedAt: Date, usedBytes = 5, quotaBytes = 100 * GIB): InventoryOutcome {
  return { kind: "observed", pool: { orgId: ORG_ID, quotaBytes, usedBytes, observedAt } };
}

function compose(last: StorageInventoryStatus | undefined, outcome: InventoryOutcome, now: Date) {
  return composeInventoryStatus(anInventory({}, last), outcome, now);
}

/** Requires a status to be written. */
function written(status: StorageInventoryStatus | undefined): StorageInventoryStatus {
  if (status === undefined) throw new Error("no status was written");
  return status;
}

const first = written(compose(undefined, found(START), START));
const summarize = (status: StorageInventoryStatus | undefined) =>
  status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const unavailable: InventoryOutcome = {
  kind: "failed",
  error: new StorageError("unavailable", "it timed out"),
};

describe("the status of an inventory", () => {
  test("has the figures, their time, and that the limit is in force", () => {
    expect(first).toMatchObject({
      observedGeneration: 1,
      quotaBytes: 100 * GIB,
      usedBytes: 5,
      observedAt: "2026-03-01T12:00:00Z",
    });
    expect(summarize(first)).toEqual([
      "Ready=True Available",
      "Reconciling=False ReconciliationSucceeded",
      "Stalled=False NotStalled",
    ]);
    expect(first.conditions?.[0]?.message).toBe("The limit of 100 GiB is in force.");
  });

  test.each<[string, InventoryOutcome, Date, boolean]>([
    ["not when nothing moved", found(minutesLater(4)), minutesLater(4), false],
    ["when a figure moved", found(minutesLater(1), 6), minutesLater(1), true],
    ["when the limit moved", found(minutesLater(1), 5, GIB), minutesLater(1), true],
    ["when its time is 5 minutes old", found(minutesLater(5)), minutesLater(5), true],
    ["not with figures that it has already", found(START), minutesLater(6), false],
    ["when its time lies ahead", found(minutesLater(-10)), minutesLater(-10), true],
    ["when the storage failed", unavailable, minutesLater(1), true],
  ])("is written %s", (_name, outcome, now, expected) => {
    expect(compose(first, outcome, now) !== undefined).toBe(expected);
  });

  test("keeps the last figures with their time while the storage fails, and is written once", () => {
    const failed = written(compose(first, unavailable, minutesLater(1)));
    expect(failed).toMatchObject({ usedBytes: 5, quotaBytes: 100 * GIB, observedAt: first.observedAt });
    expect(summarize(failed)).toEqual([
      "Ready=False StorageUnavailable",
      "Reconciling=True StorageUnavailable",
      "Stalled=False NotStalled",
    ]);
    expect(compose(failed, unavailable, minutesLater(30))).toBeUndefined();
  });

  test("is Stalled when the storage refused", () => {
    const error = new StorageError("rejected", "its password is wrong");
    expect(summarize(compose(first, { kind: "failed", error }, minutesLater(1)))).toEqual([
      "Ready=False RejectedByStorage",
      "Reconciling=False RejectedByStorage",
      "Stalled=True RejectedByStorage",
    ]);
  });
});

describe("the Events of an inventory", () => {
  const failed = written(compose(first, unavailable, minutesLater(1)));
  const full = written(compose(first, found(minutesLater(1), 100 * GIB), minutesLater(1)));
  const one = written(compose(first, found(minutesLater(1), 5, GIB), minutesLater(1)));

  test.each<[string, RecordedEvent[], string[]]>([
    ["a new pool", [composeChangeEvent(anInventory(), "create", GIB)], ["Normal StorageCreated"]],
    ["a new limit", [composeChangeEvent(anInventory({}, first), "limit", GIB)], ["Normal QuotaChanged"]],
    ["a new limit in figures", composeInventoryEvents(anInventory({}, first), one), []],
    [
      "a limit that is reached",
      composeInventoryEvents(anInventory({}, first), full),
      ["Warning QuotaReached"],
    ],
    ["a limit that stays reached", composeInventoryEvents(anInventory({}, full), full), []],
    ["a failure", composeInventoryEvents(anInventory({}, first), failed), ["Warning StorageUnavailable"]],
    ["a failure that lasts", composeInventoryEvents(anInventory({}, failed), failed), []],
    ["figures that moved", composeInventoryEvents(anInventory({}, first), { ...first, usedBytes: 6 }), []],
  ])("tell %s", (_name, events, expected) => {
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).toEqual(expected);
    for (const { regarding } of events)
      expect(regarding).toMatchObject({ kind: "StorageInventory", uid: "u" });
  });
});
