import { beforeAll, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { ANNOTATION_HOLD, FINALIZER, MANAGER_OPERATOR_STATUS } from "../names.ts";
import { openWorld, pathOf } from "./testing.ts";
import { type Attempt, expectAnswer, jsonPatch, make, merge, type Request } from "./testing-attempts.ts";

const FULL = "metadata has at most 64 labels";
const CROWDED = "65,536 characters of managedFields";
const RESET = "metadata.managedFields say who has set what";

const many = (count: number, name: string) =>
  Array.from({ length: count }, (_, n) => `example.com/${name}${n}`);
const labelled = (count: number) => Object.fromEntries(many(count, "l").map((key) => [key, "x"]));
const annotated = { "example.com/note": "x".repeat(65_536 - "example.com/note".length) };
const held = [...many(17, "f"), FINALIZER];

const entryOf = (manager: string, fieldsV1: object, more: object = {}) => ({
  manager,
  operation: "Apply",
  apiVersion: "cloud.marina.dev/v1",
  time: "2026-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more,
});
const longNames = Array.from({ length: 70 }, (_, n) => [`f:${String(n).padStart(990, "x")}`, {}]);
const crowded = {
  managedFields: [entryOf("tool-1", { "f:metadata": { "f:annotations": Object.fromEntries(longNames) } })],
};
const observed = {
  managedFields: [
    entryOf(
      MANAGER_OPERATOR_STATUS,
      { "f:status": { "f:observedGeneration": {} } },
      { subresource: "status" },
    ),
    entryOf("tool-1", { "f:metadata": { "f:labels": { "f:team": {} } } }),
  ],
};

const world = setUp(openWorld);

/** `full` has as much as others may set, and what Marina has added to it; `crowded` has more than others may add. */
beforeAll(async () => {
  const full = { labels: labelled(66), annotations: annotated, finalizers: held };
  for (const path of ["clusters/full", "nodepools/full"]) await make(world, path, full, "apiserver");
  for (const path of ["clusters/crowded", "nodepools/crowded"]) await make(world, path, crowded, "apiserver");
  for (const path of ["clusters/observed", "nodepools/observed"]) await make(world, path, observed);
  return async () => {
    // With these finalizers the Namespace would stay for ever.
    for (const resource of ["clusters", "nodepools"])
      await world.send("operator", {
        method: "PATCH",
        path: pathOf(resource, world.namespace, "full"),
        contentType: "application/merge-patch+json",
        body: { metadata: { finalizers: null } },
      });
  };
});

const label = (value: Record<string, string | null>) => ({ metadata: { labels: value } });
const annotate = (value: Record<string, string | null>) => ({ metadata: { annotations: value } });

const limits: Attempt[] = [
  ["engineer", "suspends a cluster that is full", merge("clusters/full", { spec: { suspend: true } })],
  [
    "engineer",
    "holds a cluster that is full",
    merge("clusters/full", annotate({ [ANNOTATION_HOLD]: "audit" })),
  ],
  [
    "engineer",
    "has a node of a pool replaced that is full",
    merge("nodepools/full", annotate({ "replace.cloud.marina.dev/node-1": "request-1" })),
  ],
  [
    "breakGlass",
    "removes the operator's finalizer from a cluster that is full",
    merge("clusters/full", { metadata: { finalizers: many(17, "f") } }),
  ],
  [
    "gitops",
    "removes a finalizer of its own from a pool that is full",
    merge("nodepools/full", { metadata: { finalizers: held.slice(1) } }),
  ],
  ["gitops", "changes a pool that is full", merge("nodepools/full", { spec: { displayName: "Mine" } })],
  [
    "gitops",
    "removes a label of a pool that is full",
    merge("nodepools/full", label({ "example.com/l0": null })),
  ],
  [
    "gitops",
    "changes a label of a pool that is full",
    merge("nodepools/full", label({ "example.com/l0": "y" })),
  ],
  ["gitops", "adds a label to a pool that is full", merge("nodepools/full", label({ team: "a" })), FULL],
  [
    "gitops",
    "adds a finalizer to a pool that is full",
    merge("nodepools/full", { metadata: { finalizers: [...held, "example.com/more"] } }),
    FULL,
  ],
  [
    "gitops",
    "adds an annotation of Marina's domain that is not reserved to a cluster that is full",
    merge("clusters/full", annotate({ "cloud.marina.dev/other": "x" })),
    FULL,
  ],
  [
    "engineer",
    "suspends a cluster with many entries",
    merge("clusters/crowded", { spec: { suspend: true } }),
  ],
  [
    "engineer",
    "has a node of a pool with many entries replaced",
    merge("nodepools/crowded", annotate({ "replace.cloud.marina.dev/node-1": "request-1" })),
  ],
  [
    "gitops",
    "adds an entry to a pool with many entries",
    merge("nodepools/crowded", { spec: { displayName: "Mine" } }),
    CROWDED,
  ],
];

/** Removes the entry of a manager, with the others as they are. */
function dropEntry(target: string, manager: string): Request {
  const [resource = "", name = ""] = target.split("/");
  return async (opened) => {
    const { body } = await opened.send("admin", {
      method: "GET",
      path: pathOf(resource, opened.namespace, name),
    });
    const entries: { manager: string }[] = body.metadata.managedFields;
    const index = entries.findIndex((entry) => entry.manager === manager);
    const path = `/metadata/managedFields/${index}`;
    return jsonPatch(
      target,
      { op: "test", path: `${path}/manager`, value: manager },
      { op: "remove", path },
    )(opened);
  };
}

const entries: Attempt[] = ["clusters/observed", "nodepools/observed"].flatMap((path): Attempt[] => [
  ["gitops", `removes the entry of the status of ${path}`, dropEntry(path, MANAGER_OPERATOR_STATUS), RESET],
  ["engineer", `removes the entry of the status of ${path}`, dropEntry(path, MANAGER_OPERATOR_STATUS), RESET],
  ["restore", `removes the entry of the status of ${path}`, dropEntry(path, MANAGER_OPERATOR_STATUS)],
  ["gitops", `removes the entry of another manager of ${path}`, dropEntry(path, "tool-1")],
  ["gitops", `changes ${path}`, merge(path, { spec: { displayName: "Mine" } })],
]);

test.each([...limits, ...entries])("%s %s", (...attempt) => expectAnswer(world, attempt));
