import { describe, expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { toProjectedCluster, toProjectedNodePool } from "../../resources/project/index.ts";
import { composeNotice, findDueNotice, isDue } from "./due.ts";

const END = "2026-12-08T12:00:00Z";
const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
/** So many seconds before the end. */
const ahead = (seconds: number) => new Date(Date.parse(END) - seconds * 1000);
const DAY = 86_400;

test.each<[number, string | undefined]>([
  [7 * DAY + 1, undefined],
  [7 * DAY, "7d"],
  [DAY + 1, "7d"],
  [DAY, "24h"],
  [3601, "24h"],
  [3600, "1h"],
  [1, "1h"],
  [0, undefined],
  [-DAY, undefined],
])("%i s before an end date the notice %s is due", (seconds, notice) => {
  expect(findDueNotice(END, ahead(seconds))).toBe(notice);
});

test.each([undefined, "", "tomorrow", "2026-99-99T00:00:00Z"])("the end date %j has no notice", (end) => {
  expect(findDueNotice(end, ahead(1))).toBeUndefined();
});

interface Change {
  spec?: Partial<Cluster["spec"]>;
  status?: Cluster["status"];
  metadata?: Partial<Cluster["metadata"]>;
}

function anObject({ spec, status, metadata }: Change = {}): Cluster {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: {
      name: "shop",
      namespace: "org-1",
      uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
      resourceVersion: "12",
      creationTimestamp: "2026-11-01T00:00:00Z",
      generation: 2,
      labels: { "cloud.marina.dev/id": ID },
      ...metadata,
    },
    spec: { version: "1.34.2", publicEndpoint: true, expiresAt: END, ...spec },
    ...(status !== undefined && { status }),
  };
}

const late = { metadata: { creationTimestamp: "2026-12-08T12:00:01Z" } };
const stalled = (reason: string, observedGeneration = 2): Cluster["status"] => ({
  observedGeneration,
  conditions: [{ type: "Stalled", status: "True", reason, message: "", lastTransitionTime: END }],
});

describe("an object is deleted", () => {
  test.each<[string, Date, Change]>([
    ["at its end", ahead(0), {}],
    ["long after its end", ahead(-100 * DAY), {}],
    ["at an end with an offset", ahead(0), { spec: { expiresAt: "2026-12-08T13:00:00+01:00" } }],
    ["when it is stalled for another reason", ahead(-1), { status: stalled("QuotaExceeded") }],
    [
      "when its end was set to before its creation once it was made",
      ahead(-2),
      { ...late, status: stalled("UnknownVersion") },
    ],
  ])("%s", (_, now, change) => {
    expect(isDue(anObject(change), now)).toBe(true);
  });
});

describe("an object is never deleted", () => {
  test.each<[string, Date, Change]>([
    ["without an end", ahead(-1), { spec: { expiresAt: undefined } }],
    ["with an end that is no time", ahead(-1), { spec: { expiresAt: "soon" } }],
    ["a millisecond before its end", new Date(Date.parse(END) - 1), {}],
    ["while it is protected", ahead(-1), { spec: { deletionProtection: true } }],
    ["while it is being deleted", ahead(-1), { metadata: { deletionTimestamp: END } }],
    ["created after its end, unseen by the operator", ahead(-2), late],
    ["created after its end, of which nothing is made", ahead(-2), { ...late, status: stalled("Expired") }],
    [
      "created after an end that the operator has not seen yet",
      ahead(-2),
      { ...late, status: stalled("UnknownVersion", 1) },
    ],
  ])("%s", (_, now, change) => {
    expect(isDue(anObject(change), now)).toBe(false);
  });
});

function noticeOf(change: Change, now: Date) {
  const cluster = toProjectedCluster(anObject(change), ID);
  return cluster && composeNotice(cluster, now);
}

test("a notice has one id for each object, end and kind of notice, however its end is written", () => {
  const uids = [
    noticeOf({}, ahead(60)),
    noticeOf({}, ahead(1800)),
    noticeOf({ spec: { expiresAt: "2026-12-08T13:00:00.000+01:00" } }, ahead(60)),
    noticeOf({}, ahead(7200)),
    noticeOf({ spec: { expiresAt: "2026-12-08T12:00:01Z" } }, ahead(60)),
    noticeOf({ metadata: { uid: "7205b06a-a404-49fb-bc96-844d27d421e4" } }, ahead(60)),
  ].map((notice) => notice?.eventUid);
  expect(new Set(uids.slice(0, 3)).size).toBe(1);
  expect(new Set(uids).size).toBe(4);
});

test("a notice says when what is deleted and how it is kept, and of a protected one that it is held back", () => {
  const open = noticeOf({}, ahead(60))?.payload;
  expect(open).toMatchObject({ reason: "Expiring", object: { kind: "Cluster", name: "shop" } });
  expect(JSON.stringify(open)).toMatch(/cluster shop ends at 2026-12-08T12:00:00\.000Z.*Set expires_at/);
  expect(JSON.stringify(noticeOf({ spec: { deletionProtection: true } }, ahead(60)))).toContain("holds back");
  expect(noticeOf({ metadata: { deletionTimestamp: END } }, ahead(60))).toBeUndefined();
  const pool = toProjectedNodePool({ ...anObject(), kind: "NodePool" } as never, ID, ID);
  expect(pool && composeNotice(pool, ahead(60))).toMatchObject({ clusterId: ID, nodePoolId: ID });
});
