import { describe, expect, test } from "vitest";
import { ANNOTATION_RECREATE, ANNOTATION_REQUEST_ID, FINALIZER } from "../../../shared/crd/names.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import type { ManagedFieldsEntry, ObjectMeta } from "../../../shared/kube/kind.ts";
import { isSameState, toAuditedState } from "./audited-state.ts";
import { findGap, findVersionChanges } from "./version-changes.ts";

const AT = "2026-11-21T09:00:00Z";
const LATER = "2026-11-21T09:00:01Z";
const SPEC = {
  clusterName: "c",
  vcpus: 1,
  memoryGB: 1,
  diskGB: 10,
  minNodes: 1,
  maxNodes: 9,
  desiredNodes: 1,
};

const fieldsOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, {}]));

/** What a manager manages: fields of the spec, `label:<name>`, `annotation:<name>` and `finalizer:<name>`. */
function anEntry(
  manager: string,
  names: string[],
  change: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry {
  const inPart = (part: string) =>
    names.filter((name) => name.startsWith(`${part}:`)).map((name) => name.slice(part.length + 1));
  const fieldsV1 = {
    "f:spec": fieldsOf(names.filter((name) => !name.includes(":")).map((name) => `f:${name}`)),
    "f:metadata": {
      "f:labels": fieldsOf(inPart("label").map((name) => `f:${name}`)),
      "f:annotations": fieldsOf(inPart("annotation").map((name) => `f:${name}`)),
      "f:finalizers": fieldsOf(inPart("finalizer").map((name) => `v:${JSON.stringify(name)}`)),
    },
  };
  return { manager, operation: "Update", time: AT, fieldsV1, ...change };
}

function aVersion(
  managedFields: ManagedFieldsEntry[],
  { spec = {}, ...metadata }: Partial<ObjectMeta> & { spec?: object } = {},
): NodePool {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "NodePool",
    metadata: { name: "p", generation: 1, resourceVersion: "1", managedFields, ...metadata },
    spec: { ...SPEC, ...spec },
  } as NodePool;
}

const before = toAuditedState(aVersion([anEntry("kubectl", ["desiredNodes"])]));
const byRest = { annotations: { [ANNOTATION_REQUEST_ID]: "r-1" } };

describe("a change from one version to the next is in the audit log", () => {
  test.each<[string, NodePool, [string, object, object][]]>([
    [
      "by who manages the field now, also in the second of another write",
      aVersion([anEntry("kubectl", ["desiredNodes"])], { spec: { desiredNodes: 900 } }),
      [["kubectl", { desiredNodes: 1 }, { desiredNodes: 900 }]],
    ],
    [
      "by who scales",
      aVersion([anEntry("kubectl", ["desiredNodes"], { subresource: "scale" })], {
        spec: { desiredNodes: 3 },
      }),
      [["kubectl", { desiredNodes: 1 }, { desiredNodes: 3 }]],
    ],
    [
      "once for each manager",
      aVersion([anEntry("a", ["maxNodes"]), anEntry("b", ["desiredNodes"])], {
        spec: { maxNodes: 5, desiredNodes: 2 },
      }),
      [
        ["b", { desiredNodes: 1 }, { desiredNodes: 2 }],
        ["a", { maxNodes: 9 }, { maxNodes: 5 }],
      ],
    ],
    [
      "of labels, acting annotations and finalizers",
      aVersion([anEntry("a", ["label:team", `annotation:${ANNOTATION_RECREATE}`, "finalizer:x.dev/keep"])], {
        labels: { team: "red" },
        annotations: { [ANNOTATION_RECREATE]: "yes", "example.com/note": "no" },
        finalizers: ["x.dev/keep"],
      }),
      [
        [
          "a",
          {},
          {
            labels: { team: "red" },
            annotations: { [ANNOTATION_RECREATE]: "yes" },
            finalizers: ["x.dev/keep"],
          },
        ],
      ],
    ],
    [
      "that sets a field which has no manager then, and names no writer of other fields",
      aVersion([anEntry("gitops", ["label:team"], { time: LATER })], { spec: { desiredNodes: 5 } }),
      [["unknown", { desiredNodes: 1 }, { desiredNodes: 5 }]],
    ],
    [
      "that takes a field away, by the latest writer",
      aVersion([anEntry("marina-apiserver", ["vcpus"]), anEntry("b", ["maxNodes"], { time: LATER })], {
        spec: { desiredNodes: undefined },
      }),
      [["b", { desiredNodes: 1 }, {}]],
    ],
    [
      "that takes a field away after which only Marina's entries are left",
      aVersion([anEntry("marina-apiserver", ["vcpus"])], { spec: { desiredNodes: undefined } }),
      [["unknown", { desiredNodes: 1 }, {}]],
    ],
    [
      "that takes the managers away",
      aVersion([]),
      [["unknown", { managed_fields: "kept" }, { managed_fields: "removed" }]],
    ],
    [
      "under the name of REST without a request of its",
      aVersion([anEntry("marina-apiserver", ["desiredNodes"])], { spec: { desiredNodes: 3 } }),
      [["marina-apiserver", { desiredNodes: 1 }, { desiredNodes: 3 }]],
    ],
  ])("%s", (_, next, changes) => {
    const found = findVersionChanges(before, next);
    expect(found.map((change) => [change.manager, change.before, change.after])).toEqual(changes);
  });
});

test.each<[string, NodePool]>([
  ["nothing changed", aVersion([anEntry("kubectl", ["desiredNodes"], { time: LATER })])],
  [
    "REST changed it",
    aVersion([anEntry("marina-apiserver", ["desiredNodes"])], { ...byRest, spec: { desiredNodes: 3 } }),
  ],
  [
    "REST took it away",
    aVersion([anEntry("a", ["vcpus"])], { ...byRest, spec: { desiredNodes: undefined } }),
  ],
  [
    "the operator added its finalizer",
    aVersion([anEntry("marina-operator", [`finalizer:${FINALIZER}`])], { finalizers: [FINALIZER] }),
  ],
])("there is none when %s", (_, next) => {
  expect(findVersionChanges(before, next)).toEqual([]);
});

test.each([
  [2, undefined],
  [1, undefined],
  [4, { from: 1, to: 4 }],
])("of generation %i after the first, the versions between are missing: %o", (generation, gap) => {
  expect(findGap(before, { ...before, generation })).toEqual(gap);
});

test("a version in which the status alone differs is the same", () => {
  const next = aVersion([anEntry("kubectl", ["desiredNodes"])], { resourceVersion: "2" });
  expect(isSameState(before, toAuditedState({ ...next, status: { message: "new" } }))).toBe(true);
  expect(isSameState(before, toAuditedState(aVersion([], { labels: { a: "b" } })))).toBe(false);
});
