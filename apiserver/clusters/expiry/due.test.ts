import { expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { ANNOTATION_IDENTITY, LABEL_ID } from "../../../shared/crd/names.ts";
import { toProjectedCluster, toProjectedNodePool } from "../../resources/project/index.ts";
import { composeNotice, findDueNotice, isAnnounced, isDue, listNoticeIds } from "./due.ts";

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

/** Made after the end, with its id. */
const late = {
  creationTimestamp: "2026-12-08T12:00:01Z",
  labels: { [LABEL_ID]: "01a25586-65e8-7000-8000-000000000001" },
  annotations: { [ANNOTATION_IDENTITY]: "new" },
};
/** Made after the end, with an id that is older. */
const restored = { ...late, labels: { [LABEL_ID]: ID } };
const having = (
  type: "Stalled" | "ExpiryHeld",
  reason: string,
  observedGeneration = 2,
): Cluster["status"] => ({
  observedGeneration,
  conditions: [{ type, status: "True", reason, message: "", lastTransitionTime: END }],
});
const stalled = (reason: string, observedGeneration = 2) => having("Stalled", reason, observedGeneration);

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
  [
    false,
    "created at its end, unseen by the operator",
    -1,
    { metadata: { ...late, creationTimestamp: END } },
  ],
  [false, "created after its end and not made", -2, { metadata: late, status: stalled("Expired") }],
  [
    true,
    "restored before its end",
    0,
    { metadata: { ...restored, creationTimestamp: "2026-12-08T11:59:59Z" } },
  ],
  [false, "restored after its end", -100 * DAY, { metadata: restored, status: stalled("UnknownVersion") }],
  [
    false,
    "restored after its end, with a confirmed id",
    -100 * DAY,
    { metadata: { ...restored, annotations: {} }, status: { ...stalled("UnknownVersion"), id: ID } },
  ],
  ...["known", "known 7205b06a-a404-49fb-bc96-844d27d421e3", "refused", undefined].map(
    (confirmation): [boolean, string, number, Change] => [
      false,
      `created after its end, with the confirmation ${confirmation} on its id`,
      -2,
      {
        metadata: {
          ...late,
          annotations: confirmation === undefined ? {} : { [ANNOTATION_IDENTITY]: confirmation },
        },
        status: stalled("UnknownVersion"),
      },
    ],
  ),
  [false, "with an unseen end", -2, { metadata: late, status: stalled("UnknownVersion", 1) }],
])("it is %s that an object is deleted %s", (expected, _, seconds, change) => {
  expect(isDue(anObject(change), ahead(seconds))).toBe(expected);
});

function projected(change: Change) {
  const cluster = toProjectedCluster(anObject(change), ID);
  if (cluster === undefined) throw new Error("it is not served");
  return cluster;
}

const noticeOf = (change: Change, seconds = 60) => composeNotice(projected(change), ahead(seconds));

test("a notice has one id for each object, end and kind of notice, however its end is written", () => {
  // API servers of two versions, which run together during an update, must not announce an end twice.
  expect(noticeOf({})?.eventUid).toBe("a12cfd72-f311-87eb-a3b9-3fc47f3b0c4d");
  const same = [noticeOf({}), noticeOf({}, 1800), noticeOf({ expiresAt: "2026-12-08T13:00:00.000+01:00" })];
  const others = [
    noticeOf({}, 7200),
    noticeOf({ expiresAt: "2026-12-08T12:00:01Z" }),
    noticeOf({ metadata: { uid: "7205b06a-a404-49fb-bc96-844d27d421e4" } }),
  ];
  const countIds = (notices: typeof same) => new Set(notices.map((notice) => notice?.eventUid)).size;
  expect([countIds(same), countIds([...same, ...others])]).toEqual([1, 4]);
});

test.each<[boolean, string, number, number | undefined]>([
  [true, "at its end, announced a second before", 0, 1],
  [true, "at its end, announced a week before", 0, 7 * DAY],
  [false, "at its end, never announced", 0, undefined],
  [false, "announced at its end, at once", 0, 0],
  [false, "announced at its end, 59 minutes later", -3540, 0],
  [true, "announced at its end, an hour later", -3600, 0],
  [false, "announced a day after its end, 59 minutes later", -DAY - 3540, -DAY],
  [true, "announced a day after its end, an hour later", -DAY - 3600, -DAY],
  [false, "announced by a clock that was a day ahead", -7200, -DAY],
])("it is %s that an end is announced: %s", (expected, _, seconds, announced) => {
  const sentAt = new Map<string | null, Date>();
  if (announced !== undefined) sentAt.set(noticeOf({}, announced)?.eventUid ?? "", ahead(announced));
  expect(isAnnounced(projected({}), sentAt, ahead(seconds))).toBe(expected);
  for (const moved of ["2026-12-08T11:59:59Z", "2026-12-01T12:00:00Z"])
    expect(isAnnounced(projected({ expiresAt: moved }), sentAt, ahead(-2 * DAY))).toBe(false);
});

test("what counts of an object are the notice that is due, or all of its end once it is deleted for that", () => {
  const idsAt = (seconds: number, change: Change = {}) => listNoticeIds(projected(change), ahead(seconds));
  expect(idsAt(60)).toEqual([noticeOf({})?.eventUid]);
  const all = [1, DAY, 7 * DAY, -DAY].map((seconds) => noticeOf({}, seconds)?.eventUid);
  expect(new Set(idsAt(-DAY))).toEqual(new Set(all));
  for (const [seconds, change] of [[8 * DAY], [-DAY, { deletionProtection: true }]] as const)
    expect(idsAt(seconds, change)).toEqual([]);
});

test("an end that has passed has a notice of its own, but none while something keeps the object", () => {
  const ended = noticeOf({}, -DAY);
  expect(JSON.stringify(ended)).toMatch(
    /cluster shop has ended at .*: it is deleted in an hour\. Set expires_at/,
  );
  expect(listNoticeIds(projected({}), ahead(-DAY))).toContain(ended?.eventUid);
  expect(noticeOf({}, -2 * DAY)?.eventUid).toBe(ended?.eventUid);
  const held = { status: having("ExpiryHeld", "Held") };
  for (const change of [{ deletionProtection: true }, held, { metadata: restored }])
    expect(noticeOf(change, -DAY)).toBeUndefined();
});

test("a notice says when what is deleted and how it is kept, and of a protected one that it is held back", () => {
  expect(JSON.stringify(noticeOf({}))).toMatch(
    /cluster shop ends at 2026-12-08T12:00:00\.000Z.*Set expires_at/,
  );
  expect(JSON.stringify(noticeOf({ deletionProtection: true }))).toContain("holds back");
  expect(noticeOf({ metadata: { deletionTimestamp: END } })).toBeUndefined();
  const object = { ...anObject({ displayName: "Web" }), kind: "NodePool" };
  const pool = toProjectedNodePool(object as never, ID, ID);
  const payload = { object: { kind: "NodePool", name: "Web" } };
  expect(pool && composeNotice(pool, ahead(60))).toMatchObject({ clusterId: ID, nodePoolId: ID, payload });
});
