import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KubeError } from "../kube/errors.ts";
import { createLogger } from "../program/log.ts";
import { createRecorder, type RecordedEvent, type RecorderOptions } from "./recorder.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const refuse = (status: number, reason: string) => () =>
  Promise.reject(new KubeError({ status, reason, kubeMessage: reason }));
const event = (note: string): RecordedEvent => ({
  regarding: { apiVersion: "v1", kind: "Thing", namespace: "n", name: "a", uid: "u" },
  type: "Normal",
  reason: "Made",
  action: "Make",
  note,
});

/** A recorder whose API returns these responses. */
function record(responses: { create?: () => Promise<unknown>; get?: () => Promise<unknown> } = {}) {
  const api = {
    create: vi.fn<() => Promise<unknown>>(responses.create ?? (async () => ({}))),
    get: vi.fn<() => Promise<unknown>>(responses.get ?? (async () => undefined)),
    mergePatch: vi.fn<() => Promise<unknown>>(async () => ({})),
  };
  const results: string[] = [];
  const recorder = createRecorder({
    client: api as unknown as RecorderOptions["client"],
    reportingController: "things.test/maker",
    reportingInstance: "i",
    fieldManager: "test",
    log: createLogger({ name: "test", level: "silent" }),
    onEvent: (result) => results.push(result),
  });
  const sent = (write: { mock: { calls: unknown[][] } }, at: number) =>
    write.mock.calls.map((call) => call[at]);
  return {
    recorder,
    results,
    api,
    created: () => sent(api.create, 1) as { message: string; series?: { count: number } }[],
    patched: () => sent(api.mergePatch, 3) as { series: { count: number } }[],
  };
}

test("an event is written at once", async () => {
  const { recorder, created, results } = record();
  recorder.record(event("one"));
  await pass(0);
  expect(created().map(({ message }) => message)).toEqual(["one"]);
  expect(results).toEqual(["written"]);
});

test("repeats within a minute are written together, as a series", async () => {
  const { recorder, api, created, patched } = record({ get: async () => ({}) });
  for (let repeat = 0; repeat < 5; repeat++) {
    recorder.record(event("one"));
    await pass(1_000);
  }
  expect(created()).toHaveLength(1);
  expect(api.mergePatch).not.toHaveBeenCalled();
  await pass(60_000);
  expect(patched()).toMatchObject([{ series: { count: 5 } }]);
});

test("an Event that another process wrote is continued, not duplicated", async () => {
  const { recorder, created, patched } = record({
    create: refuse(409, "AlreadyExists"),
    get: async () => ({ series: { count: 7 } }),
  });
  recorder.record(event("one"));
  await pass(0);
  expect(created()).toHaveLength(1);
  expect(patched()).toMatchObject([{ series: { count: 8 } }]);
});

test("a counted event is written with the time at which it happened last", async () => {
  const { recorder, created } = record();
  const lastAt = new Date("2026-01-02T03:05:00Z");
  recorder.record({ ...event("one"), count: 2, at: new Date("2026-01-02T03:04:00Z"), lastAt });
  await pass(0);
  expect(created()).toMatchObject([
    {
      firstTimestamp: "2026-01-02T03:04:00Z",
      series: { count: 2, lastObservedTime: "2026-01-02T03:05:00.000000Z" },
    },
  ]);
});

test("a mirrored event that is already recorded is not written again", async () => {
  const { recorder, api } = record({
    create: refuse(409, "AlreadyExists"),
    get: async () => ({ series: { count: 7 } }),
  });
  recorder.record({ ...event("one"), count: 7 });
  await pass(0);
  expect(api.mergePatch).not.toHaveBeenCalled();
});

test("an event that expired meanwhile is created again", async () => {
  const { recorder, created } = record({ get: async () => undefined });
  recorder.record(event("one"));
  await pass(61_000);
  recorder.record(event("one"));
  await pass(1_000);
  expect(created()).toHaveLength(2);
});

test("while the API server is unreachable events are queued, and written afterwards", async () => {
  let create: () => Promise<unknown> = refuse(503, "ServiceUnavailable");
  const { recorder, results } = record({ create: () => create() });
  recorder.record(event("one"));
  await pass(0);
  expect(results).toEqual([]);
  create = async () => ({});
  await pass(60_000);
  expect(results).toEqual(["written"]);
});

test("an event that is rejected is counted as failed and not retried", async () => {
  const { recorder, results, created } = record({ create: refuse(422, "Invalid") });
  recorder.record(event("one"));
  await pass(600_000);
  expect(results).toEqual(["failed"]);
  expect(created()).toHaveLength(1);
});

test("a full queue drops its oldest and counts it", async () => {
  const { recorder, results } = record({ create: () => new Promise(() => undefined) });
  for (let nth = 0; nth < 5_006; nth++) recorder.record(event(`number ${nth}`));
  await pass(0);
  expect(results).toEqual(["dropped", "dropped"]);
});

test("a flush also writes delayed repeats", async () => {
  const { recorder, patched } = record({ get: async () => ({}) });
  recorder.record(event("one"));
  await pass(0);
  recorder.record(event("one"));
  await pass(0);
  await recorder.flush(1_000);
  expect(patched()).toMatchObject([{ series: { count: 2 } }]);
});

test("a flush gives up at its deadline", async () => {
  const { recorder } = record({ create: () => new Promise(() => undefined) });
  recorder.record(event("one"));
  const flushed = recorder.flush(1_000);
  await pass(1_000);
  await expect(flushed).resolves.toBeUndefined();
});
