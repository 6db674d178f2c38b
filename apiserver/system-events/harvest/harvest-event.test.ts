import { describe, expect, test } from "vitest";
import type { Event } from "../../../shared/kube/core-kinds.ts";
import { harvestEvent } from "./harvest-event.ts";

const UID = "7205b06a-a404-49fb-bc96-844d27d421e3";
const EVENT: Event = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: {
    name: "first.1",
    namespace: "org-1",
    uid: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
    labels: { "cloud.marina.dev/source": "machine", "cloud.marina.dev/node-pool-id": UID },
  },
  reportingController: "marina-operator",
  type: "Warning",
  reason: "MachineMarkedUnhealthy",
  note: "no answer for 300 s",
  eventTime: "2026-11-21T09:00:00.123456Z",
  regarding: { apiVersion: "cloud.marina.dev/v1", kind: "Cluster", name: "first", uid: UID },
  related: { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Machine", name: "first-a-1" },
};

test("an event of the operator names the related object, with times in milliseconds", () => {
  expect(harvestEvent(EVENT)).toEqual({
    eventUid: EVENT.metadata.uid,
    eventCount: 1,
    namespace: "org-1",
    regardingUid: UID,
    nodePoolId: UID,
    payload: {
      type: "Warning",
      reason: "MachineMarkedUnhealthy",
      message: "no answer for 300 s",
      source: "machine",
      object: { kind: "Machine", name: "first-a-1" },
      count: 1,
      firstSeenAt: "2026-11-21T09:00:00.123Z",
      lastSeenAt: "2026-11-21T09:00:00.123Z",
    },
  });
});

describe("a repeated event", () => {
  test.each<[string, Partial<Event>]>([
    ["as a series", { series: { count: 4, lastObservedTime: "2026-11-21T09:01:00.000000Z" } }],
    [
      "as the core API counts",
      {
        eventTime: null,
        deprecatedCount: 4,
        deprecatedFirstTimestamp: "2026-11-21T09:00:00.123Z",
        deprecatedLastTimestamp: "2026-11-21T09:01:00Z",
      },
    ],
  ])("%s has its count and both times", (_, change) => {
    const harvested = harvestEvent({ ...EVENT, ...change });
    expect(harvested?.eventCount).toBe(4);
    expect(harvested?.payload).toMatchObject({
      count: 4,
      firstSeenAt: "2026-11-21T09:00:00.123Z",
      lastSeenAt: "2026-11-21T09:01:00.000Z",
    });
  });
});

test.each<[string, Partial<Event>]>([
  ["of another controller", { reportingController: "kubelet" }],
  ["about an object of another group", { regarding: { ...EVENT.regarding, apiVersion: "v1" } }],
  ["about nothing", { regarding: undefined as never }],
  ["about an object with no identity", { regarding: { apiVersion: "cloud.marina.dev/v1", kind: "Cluster" } }],
  ["about an identity that is none", { regarding: { ...EVENT.regarding, uid: "first" } }],
])("an event %s is not harvested", (_, change) => {
  expect(harvestEvent({ ...EVENT, ...change })).toBeUndefined();
});

test("a related object that is no machine is not shown", () => {
  const related = { ...EVENT.related, kind: "MachineSet", name: "first-web-x7k2p" };
  expect(harvestEvent({ ...EVENT, related })?.payload.object).toEqual({ kind: "Cluster", name: "first" });
});

test("an unknown source is the operator, and the regarded object stands in for a related one", () => {
  const { related: _, ...alone } = EVENT;
  const harvested = harvestEvent({ ...alone, metadata: { ...EVENT.metadata, labels: {} } });
  expect(harvested?.payload).toMatchObject({
    source: "operator",
    object: { kind: "Cluster", name: "first" },
  });
});
