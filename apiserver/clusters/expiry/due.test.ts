import { expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { toProjectedCluster, toProjectedNodePool } from "../../resources/project/index.ts";
import { composeNotice, findDueNotice, isDue } from "./due.ts";

const END = "2026-12-08T12:00:00Z";
const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const DAY = 86_400;
/** So many seconds before the end. */
const ahead = (seconds: number) => new Date(Date.parse(END) - seconds * 1000);

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
])("%i s before an end date the notice %s is due, and none without a date", (seconds, notice) => {
  expect(findDueNotice(END, ahead(seconds))).toBe(notice);
  for (const end of [undefined, "", "tomorrow"]) expect(findDueNotice(end, ahead(seconds))).toBeUndefined();
});

type Change = Partial<Cluster["spec"]> & {
  metadata?: Partial<Cluster["metadata"]>;
  status?: Cluster["status"];
};

function anObject({ metadata, status, ...spec }: Change = {}): Cluster {
  const made = {
    name: "shop",
    namespace: "org-1",
    uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
    generation: 2,
  };
  const times = { creationTimestamp: "2026-11-01T00:00:00Z", resourceVersion: "12" };
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: { ...made, ...times, labels: { "cloud.marina.dev/id": ID }, ...metadata },
    spec: { version: "1.34.2", publicEndpoint: true, expiresAt: END, ...spec },
    ...(status !== undefined && { status }),
  };
}

const late = { creationTimestamp: "2026-12-08T12:00:01Z" };
const stalled = (reason: string, observedGeneration = 2): Cluster["status"] => ({
  observedGeneration,
  conditions: [{ type: "Stalled", status: "True", reason, message: "", lastTransitionTime: END }],
});

test.each<[boolean, string, number, Change]>([
  [true, "at its end", 0, {}],
  [true, "long after its end", -100 * DAY, {}],
  [true, "at an end with an offset", 0, { expiresAt: "2026-12-08T13:00:00+01:00" }],
  [true, "when it is stalled for another reason", -1, { status: stalled("QuotaExceeded") }],
  [true, "made, with an end before its creation", -2, { metadata: late, status: stalled("UnknownVersion") }],
  [false, "without an end", -1, { expiresAt: undefined }],
  [false, "with an end that is no time", -1, { expiresAt: "soon" }],
  [false, "a millisecond before its end", 0.001, {}],
  [false, "while it is protected", -1, { deletionProtection: true }],
  [false, "while it is being deleted", -1, { metadata: { deletionTimestamp: END } }],
  [false, "created after its end, unseen by the operator", -2, { metadata: late }],
  [false, "created after its end and not made", -2, { metadata: late, status: stalled("Expired") }],
  [false, "with an unseen end", -2, { metadata: late, status: stalled("UnknownVersion", 1) }],
])("it is %s that an object is deleted %s", (expected, _, seconds, change) => {
  expect(isDue(anObject(change), ahead(seconds))).toBe(expected);
});

function noticeOf(change: Change, seconds = 60) {
  const cluster = toProjectedCluster(anObject(change), ID);
  return cluster && composeNotice(cluster, ahead(seconds));
}

test("a notice has one id for each object, end and kind of notice, however its end is written", () => {
  const same = [noticeOf({}), noticeOf({}, 1800), noticeOf({ expiresAt: "2026-12-08T13:00:00.000+01:00" })];
  const others = [
    noticeOf({}, 7200),
    noticeOf({ expiresAt: "2026-12-08T12:00:01Z" }),
    noticeOf({ metadata: { uid: "7205b06a-a404-49fb-bc96-844d27d421e4" } }),
  ];
  const countIds = (notices: typeof same) => new Set(notices.map((notice) => notice?.eventUid)).size;
  expect([countIds(same), countIds([...same, ...others])]).toEqual([1, 4]);
});

test("a notice says when what is deleted and how it is kept, and of a protected one that it is held back", () => {
  expect(JSON.stringify(noticeOf({}))).toMatch(
    /cluster shop ends at 2026-12-08T12:00:00\.000Z.*Set expires_at/,
  );
  expect(JSON.stringify(noticeOf({ deletionProtection: true }))).toContain("holds back");
  expect(noticeOf({ metadata: { deletionTimestamp: END } })).toBeUndefined();
  const pool = toProjectedNodePool({ ...anObject(), kind: "NodePool" } as never, ID, ID);
  expect(pool && composeNotice(pool, ahead(60))).toMatchObject({ clusterId: ID, nodePoolId: ID });
});
