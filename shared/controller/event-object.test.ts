import { expect, test } from "vitest";
import type { Event } from "../kube/core-kinds.ts";
import { identifyEvent, type RecordedEvent, toEventObject, toSeriesPatch } from "./event-object.ts";

const event: RecordedEvent = {
  regarding: { apiVersion: "v1", kind: "Thing", namespace: "n", name: "a", uid: "u" },
  type: "Normal",
  reason: "Made",
  action: "Make",
  note: "made it",
};
const at = new Date("2026-01-02T03:04:05.678Z");
const later = new Date("2026-01-02T03:05:00.000Z");
const reporting = { controller: "things.test/maker", instance: "i" };
const nameOf = (change: Partial<RecordedEvent>) => identifyEvent({ ...event, ...change }, "c").name;

test("the same event has the same name in every process", () => {
  expect(nameOf({})).toBe(nameOf({ at: later, labels: { x: "y" } }));
  expect(nameOf({})).toMatch(/^a\.[0-9a-f]{16}$/);
});

test.each<{ what: string; change: Partial<RecordedEvent> }>([
  { what: "note", change: { note: "other" } },
  { what: "reason", change: { reason: "Other" } },
  { what: "type", change: { type: "Warning" } },
  { what: "uid of the object", change: { regarding: { ...event.regarding, uid: "v" } } },
  { what: "related object", change: { related: { apiVersion: "v1", kind: "Part", name: "p" } } },
])("another $what is another event", ({ change }) => {
  expect(nameOf(change)).not.toBe(nameOf({}));
});

test("a dedupe key alone decides", () => {
  expect(nameOf({ dedupeKey: "k" })).toBe(nameOf({ dedupeKey: "k", note: "other", reason: "Other" }));
});

test("the longest object name still gives a valid event name", () => {
  const { name } = identifyEvent(
    { ...event, regarding: { ...event.regarding, name: "a.".repeat(126) } },
    "c",
  );
  expect(name.length).toBeLessThanOrEqual(253);
  expect(name).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
  expect(name).not.toContain("..");
});

test("an event about a cluster-scoped object lives in the namespace default", () => {
  expect(
    identifyEvent({ ...event, regarding: { ...event.regarding, namespace: undefined } }, "c").namespace,
  ).toBe("default");
});

test("a single occurrence has no series, several have one", () => {
  const identity = { namespace: "n", name: "x" };
  const once = toEventObject({ event, firstAt: at, lastAt: at, more: 1 }, identity, reporting);
  expect(once).toMatchObject({
    eventTime: "2026-01-02T03:04:05.678000Z",
    firstTimestamp: "2026-01-02T03:04:05Z",
    lastTimestamp: "2026-01-02T03:04:05Z",
    count: 1,
    message: "made it",
    reportingInstance: "i",
  });
  expect(once).not.toHaveProperty("series");
  expect(toEventObject({ event, firstAt: at, lastAt: later, more: 3 }, identity, reporting).series).toEqual({
    count: 3,
    lastObservedTime: "2026-01-02T03:05:00.000000Z",
  });
});

test("a note is cut at 1 kB, between characters", () => {
  const long = { ...event, note: "ä".repeat(1_000) };
  const { message } = toEventObject(
    { event: long, firstAt: at, lastAt: at, more: 1 },
    { namespace: "n", name: "x" },
    reporting,
  );
  expect(message).toBe("ä".repeat(512));
});

test.each<{
  what: string;
  existing: Partial<Event>;
  more: number;
  total?: number;
  count: number | undefined;
}>([
  { what: "a first one", existing: {}, more: 1, count: 2 },
  { what: "a series", existing: { series: { count: 4, lastObservedTime: "" } }, more: 2, count: 6 },
  { what: "an older kind of count", existing: { deprecatedCount: 3 }, more: 1, count: 4 },
  {
    what: "a total that grew",
    existing: { series: { count: 4, lastObservedTime: "" } },
    more: 1,
    total: 9,
    count: 9,
  },
  {
    what: "a total that is already recorded",
    existing: { series: { count: 9, lastObservedTime: "" } },
    more: 1,
    total: 9,
    count: undefined,
  },
  { what: "a total of one", existing: {}, more: 1, total: 1, count: undefined },
])("$what is counted on to $count", ({ existing, more, total, count }) => {
  const patch = toSeriesPatch(existing as Event, { event, firstAt: at, lastAt: later, more, total });
  expect(patch?.count).toBe(count);
});
