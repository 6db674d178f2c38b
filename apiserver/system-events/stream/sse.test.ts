import { describe, expect, test } from "vitest";
import type { StatusPayload, SystemEventPayload } from "../../events/table.ts";
import { cursorToPosition, positionToCursor } from "../../http/contract/page.ts";
import { presentEvent } from "../present.ts";
import { byeRecord, deletedRecord, eventRecord, gapRecord } from "../schema.ts";
import { describeStream } from "../stream-schema.ts";
import { formatMessage, parseLastEventId } from "./sse.ts";

test("an event is three lines and an empty one; its data stays on one line", () => {
  expect(formatMessage({ event: "status", id: 7, data: { message: "two\nlines" } })).toBe(
    'event: status\nid: 7\ndata: {"message":"two\\nlines"}\n\n',
  );
});

test("an event that is no position to resume from carries no id", () => {
  expect(formatMessage({ event: "bye", data: {} })).toBe("event: bye\ndata: {}\n\n");
});

const at = "2026-11-21T09:00:00.000Z";
const place = { id: 7, clusterId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11", nodePoolId: null };
const shownPlace = { id: 7, cluster_id: place.clusterId, node_pool_id: null };

test("a system event has the fields of the interface and no other", () => {
  const payload: SystemEventPayload = {
    type: "Warning",
    reason: "MachineMarkedUnhealthy",
    message: "no answer",
    source: "hypervisor",
    object: { kind: "Machine", name: "first-1" },
    count: 2,
    firstSeenAt: at,
    lastSeenAt: at,
  };
  const { firstSeenAt, lastSeenAt, ...same } = payload;
  expect(presentEvent({ ...place, kind: "system-event", payload })).toEqual({
    event: "system-event",
    data: { ...shownPlace, ...same, first_seen_at: firstSeenAt, last_seen_at: lastSeenAt },
  });
});

test("so has a change of status", () => {
  const payload: StatusPayload = { status: "running", previousStatus: "provisioning", message: null, at };
  expect(presentEvent({ ...place, kind: "status", payload })).toEqual({
    event: "status",
    data: { ...shownPlace, status: "running", previous_status: "provisioning", message: null, at },
  });
});

test("every kind of event is in the document, with an example of its own schema", () => {
  const { examples, mediaType, schema } = describeStream();
  expect(mediaType).toBe("text/event-stream");
  expect(Object.keys(examples)).toEqual(["system-event", "status", "gap", "deleted", "bye"]);
  for (const [event, { value }] of Object.entries(examples)) {
    const { id, data } = schema.parse(value) as { id?: string; data: string };
    const closed = { gap: gapRecord, deleted: deletedRecord, bye: byeRecord }[event];
    if (closed === undefined) eventRecord.parse({ event, data: JSON.parse(data) });
    else closed.parse(JSON.parse(data));
    expect(id === undefined).toBe(closed !== undefined);
  }
});

test.each<[string | undefined, number | undefined]>([
  ["0", 0],
  ["42", 42],
  [undefined, undefined],
  ["", undefined],
  ["-1", Number.MAX_SAFE_INTEGER],
  ["1e3", Number.MAX_SAFE_INTEGER],
  ["0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11", Number.MAX_SAFE_INTEGER],
  ["9".repeat(16), Number.MAX_SAFE_INTEGER],
])("a Last-Event-ID of %s is %s", (text, position) => {
  expect(parseLastEventId(text)).toBe(position);
});

test("a Last-Event-ID of more than 255 characters is refused", () => {
  expect(parseLastEventId("9".repeat(255))).toBe(Number.MAX_SAFE_INTEGER);
  expect(() => parseLastEventId("9".repeat(256))).toThrow("Last-Event-ID must have at most 255 characters.");
});

describe("cursors of the history", () => {
  test.each([0, 1, 255, 4096, 2 ** 32, Number.MAX_SAFE_INTEGER])("position %d comes back", (position) => {
    const cursor = positionToCursor(position);
    expect(cursor).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(cursorToPosition(cursor)).toBe(position);
  });

  test.each([
    "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
    "ffffffff-ffff-8fff-8f00-000000000000",
    "00000000-0000-0000-0000-000000000000",
  ])("%s is none of ours", (cursor) => {
    expect(cursorToPosition(cursor)).toBeUndefined();
  });
});
