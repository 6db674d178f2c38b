import { describe, expect, test } from "vitest";
import { NO_AMOUNTS } from "../../../shared/crd/quota.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import type { WriteIntent } from "../table.ts";
import { findWritten } from "./jobs.ts";

const UID = "7d7f3b1e-0d2c-4a9c-9a55-0a4f6f0f1a01";
const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";

/** A change by request `id`, on version `on`, which request `after` had made. */
function aChange(id: string, on: string, after: string | null = null): WriteIntent {
  return anIntent({ id, requestId: id, resourceVersion: on, previousRequestId: after });
}

function anIntent(change: Partial<WriteIntent>): WriteIntent {
  return {
    id: "intent",
    groupId: "intent",
    kind: "NodePool",
    verb: "change",
    orgId: "org-1",
    objectId: ID,
    parentId: "cluster-1",
    nameKey: null,
    ...NO_AMOUNTS,
    namespace: "org-1",
    name: "pool",
    uid: UID,
    resourceVersion: "10",
    requestId: "intent",
    previousRequestId: null,
    object: null,
    author: {} as WriteIntent["author"],
    entry: { action: "any", orgId: null, target: { kind: "node_pool", id: ID }, result: "done" },
    startedAt: new Date(0),
    ...change,
  };
}

function anObject(version: string, requestId?: string, change: object = {}): KubeObject {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "NodePool",
    metadata: {
      name: "pool",
      uid: UID,
      resourceVersion: version,
      labels: { "cloud.marina.dev/id": ID },
      ...(requestId === undefined ? {} : { annotations: { "cloud.marina.dev/request-id": requestId } }),
      ...change,
    },
  };
}

const other = { uid: "00000000-0000-4000-8000-000000000000" };
const deleting = { deletionTimestamp: "2026-11-21T09:00:00Z" };
const [create, remove] = [anIntent({ verb: "create", uid: null }), anIntent({ verb: "delete" })];

describe("an intent had its effect", () => {
  test.each<[string, WriteIntent[], KubeObject | undefined, KubeObject | undefined, string[]]>([
    [
      "a change whose request id the object carries",
      [aChange("a", "10")],
      anObject("11", "a"),
      undefined,
      ["a"],
    ],
    [
      "not a change that another request came before",
      [aChange("a", "10")],
      anObject("11", "b"),
      undefined,
      [],
    ],
    [
      "not a change of an object that never changed",
      [aChange("a", "10")],
      anObject("10", "a"),
      undefined,
      [],
    ],
    [
      "not a change of an object that replaced it",
      [aChange("a", "10")],
      anObject("11", "a", other),
      undefined,
      [],
    ],
    [
      "every change that the last one built on",
      [aChange("a", "10"), aChange("b", "11", "a"), aChange("c", "12", "b"), aChange("lost", "11", "a")],
      anObject("14", "c"),
      undefined,
      ["c", "b", "a"],
    ],
    [
      "one of two requests of the same id, the one that was written first",
      [aChange("same", "10"), aChange("same", "11", "same")],
      anObject("11", "same"),
      undefined,
      ["same"],
    ],
    ["a change, by the last observation", [aChange("a", "10")], undefined, anObject("11", "a"), ["a"]],
    ["a creation of an object that exists", [create], anObject("10", "b"), undefined, ["intent"]],
    ["a creation of an object that existed", [create], undefined, anObject("10"), ["intent"]],
    ["not a creation of an object that was never observed", [create], undefined, undefined, []],
    [
      "not a creation of an object without this id",
      [create],
      anObject("10", "a", { labels: {} }),
      undefined,
      [],
    ],
    ["a deletion of an object that is gone", [remove], undefined, undefined, ["intent"]],
    [
      "a deletion of an object that is being deleted",
      [remove],
      anObject("10", "a", deleting),
      undefined,
      ["intent"],
    ],
    [
      "a deletion of an object that was replaced",
      [remove],
      anObject("10", "a", other),
      undefined,
      ["intent"],
    ],
    ["not a deletion of an object that stays", [remove], anObject("10", "a"), undefined, []],
  ])("%s", (_case, intents, live, lastStored, written) => {
    expect(findWritten(intents, { live, lastStored }).map(({ id }) => id)).toEqual(written);
  });
});
