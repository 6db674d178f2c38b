import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { ANNOTATION_AUTHORIZED_CIDRS, ANNOTATION_IDENTITY, ANNOTATION_REQUEST_ID } from "../names.ts";
import { openWorld } from "./testing.ts";
import {
  type Attempt,
  apply,
  create,
  expectAnswer,
  jsonPatch,
  make,
  merge,
  type Request,
  remove,
  replace,
  update,
} from "./testing-attempts.ts";

const marked = { annotations: { [ANNOTATION_REQUEST_ID]: "request-1" } };
const entryOf = (manager: string, time: string) => ({
  manager,
  operation: "Update",
  apiVersion: "cloud.marina.dev/v1",
  time,
  fieldsType: "FieldsV1",
  fieldsV1: { "f:spec": { "f:version": {}, "f:clusterName": {} } },
});
const backedUp = { managedFields: [entryOf("marina-apiserver", "2026-01-01T00:00:00Z")] };
const named = { displayName: "Mine" };

const MARKS = "are set by Marina alone: leave them out";
const MANAGERS = "begins with marina- are Marina's own";
const SAME_SECOND = "Marina has changed this object in the same second";
const rateLimited = { network: { apiServerRateLimit: { maxConnectionsPerSecond: 10, burst: 20 } } };
/** Another manager's entry, which no later write is newer than. */
const ofFuture = entryOf("tool-1", "2200-01-01T00:00:00Z");

const world = setUp(openWorld);

/** `shop` and `web` were made by REST. */
beforeAll(async () => {
  await make(world, "clusters/shop", { ...marked, ...backedUp });
  await make(world, "nodepools/web", { ...marked, ...backedUp });
  await make(world, "clusters/now", { managedFields: [ofFuture], spec: rateLimited });
  await make(world, "clusters/bare", {});
  await make(world, "nodepools/bare", {});
  // The operator deletes an access that has expired.
  await make(world, "clusteraccesses/bare", { spec: { ttlSeconds: 604_800 } });
  await make(world, "storageinventories/shared-storage", {});
  await make(world, "nodepools/crowded", { managedFields: [bloatedEntry("tool-1", 60)] });
});

/** An entry of about so many thousand characters, for fields that the object need not have. */
function bloatedEntry(manager: string, thousands: number) {
  const names = Array.from({ length: thousands }, (_, n) => `f:${String(n).padStart(990, "x")}`);
  const fieldsV1 = { "f:metadata": { "f:annotations": Object.fromEntries(names.map((name) => [name, {}])) } };
  return { ...entryOf(manager, "2026-01-01T00:00:00Z"), operation: "Apply", fieldsV1 };
}

const CROWDED = "65,536 characters of managedFields";
const bloated = (thousands: number) => ({ managedFields: [bloatedEntry("tool-1", thousands)] });
const bloatedOwn = (thousands: number) => ({
  managedFields: [{ ...bloatedEntry("marina-apiserver", thousands), operation: "Update" }],
});

function unnamed(thousands = 1) {
  const { manager: _, ...entry } = bloatedEntry("", thousands);
  return entry;
}

/** What a status would have no room beside. */
const entries: Attempt[] = [
  ["gitops", "creates a pool with entries of 70,000 characters", create("nodepools", bloated(70)), CROWDED],
  ["engineer", "creates a cluster with as many", create("clusters", bloated(70)), CROWDED],
  ["restore", "creates a pool with as many", create("nodepools", bloated(70)), CROWDED],
  ["gitops", "creates a pool with some", create("nodepools", bloated(50))],
  ["gitops", "changes a pool that has some", merge("nodepools/crowded", { spec: named })],
  [
    "gitops",
    "adds more to a pool that has some",
    jsonPatch("nodepools/crowded", {
      op: "add",
      path: "/metadata/managedFields/-",
      value: bloatedEntry("tool-2", 20),
    }),
    CROWDED,
  ],
  [
    "gitops",
    "scales under a name of its own",
    merge("nodepools/web/scale", { spec: { replicas: 2 } }, { manager: "tool-1" }),
    "a pool is scaled without --field-manager",
  ],
  ...["kubectl-patch", "kubectl-replace", "kubectl-edit"].map(
    (manager): Attempt => [
      "gitops",
      `scales as ${manager}`,
      merge("nodepools/web/scale", { spec: { replicas: 2 } }, { manager }),
    ],
  ),
  ...["nodepools/web", "clusters/shop"].map(
    (path): Attempt => [
      "gitops",
      `bloats the entry of Marina in ${path}`,
      update(path, { metadata: bloatedOwn(900) }),
      MANAGERS,
    ],
  ),
  ["gitops", "sends the entry of Marina back as it is", update("nodepools/web", { spec: named })],
  ["restore", "restores a larger entry of Marina", merge("nodepools/web", { metadata: bloatedOwn(70) })],
  [
    "gitops",
    "creates a pool with an entry of no manager",
    create("nodepools", { managedFields: [unnamed()] }),
  ],
  [
    "gitops",
    "creates a pool with many of them",
    create("nodepools", { managedFields: [unnamed(70)] }),
    CROWDED,
  ],
];

const annotate = (name: string, value: string | null) => ({ metadata: { annotations: { [name]: value } } });

const marks: Attempt[] = [
  ...[ANNOTATION_REQUEST_ID, ANNOTATION_IDENTITY, ANNOTATION_AUTHORIZED_CIDRS].flatMap((name): Attempt[] => [
    ["gitops", `creates a pool with ${name}`, create("nodepools", { annotations: { [name]: "new" } }), MARKS],
    [
      "engineer",
      `applies a cluster with ${name}`,
      apply("clusters/new", { annotations: { [name]: "new" } }),
      MARKS,
    ],
    ["gitops", `sets ${name}`, merge("clusters/bare", annotate(name, "known")), MARKS],
    [
      "restore",
      `sets ${name} of a cluster that exists`,
      merge("clusters/bare", annotate(name, "known")),
      MARKS,
    ],
  ]),
  ["gitops", "changes a mark", merge("clusters/shop", annotate(ANNOTATION_REQUEST_ID, "request-2")), MARKS],
  ["namesake", "changes a mark", merge("clusters/shop", annotate(ANNOTATION_REQUEST_ID, "request-2")), MARKS],
  ["gitops", "replaces a cluster with the mark that it has", replace("clusters/shop", marked)],
  ["gitops", "replaces a cluster without its marks", replace("clusters/shop")],
  ["restore", "creates a cluster with marks and entries", create("clusters", { ...marked, ...backedUp })],
  ["restore", "creates a pool with marks and entries", create("nodepools", { ...marked, ...backedUp })],
  [
    "restore",
    "creates an access with marks and entries",
    create("clusteraccesses", { ...marked, ...backedUp }),
  ],
  // As `clusterctl move` does, by an administrator.
  ["admin", "creates a cluster with marks and entries", create("clusters", { ...marked, ...backedUp })],
  ["apiserver", "changes a mark", merge("clusters/shop", annotate(ANNOTATION_REQUEST_ID, "request-2"))],
];

const RESET = "metadata.managedFields say who has set what";
const FULL = "metadata has at most 64 labels";
const many = (count: number, name: (n: number) => string) => Array.from({ length: count }, (_, n) => name(n));
const labelled = (count: number) => ({
  labels: Object.fromEntries(many(count, (n) => `example.com/l${n}`).map((key) => [key, "x"])),
});

const metadata: Attempt[] = [
  ...["clusters/shop", "nodepools/web", "clusters/bare"].map(
    (path): Attempt => [
      "gitops",
      `resets the managedFields of ${path}`,
      merge(path, { metadata: { managedFields: [{}] } }),
      RESET,
    ],
  ),
  ["engineer", "resets managedFields", merge("clusters/shop", { metadata: { managedFields: [{}] } }), RESET],
  [
    "gitops",
    "sends no managedFields",
    merge("clusters/bare", { metadata: { managedFields: [] }, spec: named }),
  ],
  ["gitops", "creates with 60 labels", create("clusters", labelled(60))],
  ["gitops", "creates with 65 labels", create("clusters", labelled(65)), FULL],
  ["gitops", "adds 65 labels", merge("nodepools/bare", { metadata: labelled(65) }), FULL],
  [
    "engineer",
    "adds 17 finalizers",
    merge("nodepools/bare", { metadata: { finalizers: many(17, (n) => `example.com/f${n}`) } }),
    FULL,
  ],
  [
    "gitops",
    "adds 60 KB of annotations",
    merge("clusters/bare", annotate("example.com/note", "x".repeat(60_000))),
  ],
  [
    "gitops",
    "adds 70 KB of annotations",
    merge("clusters/bare", annotate("example.com/note", "x".repeat(70_000))),
    FULL,
  ],
];

/** A request that follows a change by Marina's API server at once, at the beginning of a second. */
function inSecondOfMarina(request: Request): Request {
  return async (opened) => {
    await sleep(1_000 - (Date.now() % 1_000));
    const change = merge(
      "clusters/now",
      { spec: { displayName: `Shop ${Date.now()}`, labels: { team: "a" } } },
      { userAgent: "marina-apiserver/1" },
    );
    await opened.send("apiserver", { ...change(opened), query: {} });
    return request(opened);
  };
}

const managers: Attempt[] = [
  ...["marina-apiserver", "marina-operator", "marina-x"].flatMap((manager): Attempt[] => [
    ["gitops", `patches as ${manager}`, merge("clusters/shop", { spec: named }, { manager }), MANAGERS],
    ["engineer", `applies as ${manager}`, apply("nodepools/web", {}, {}, manager), MANAGERS],
  ]),
  [
    "gitops",
    "scales as marina-operator",
    merge("nodepools/web/scale", { spec: { replicas: 2 } }, { manager: "marina-operator" }),
    MANAGERS,
  ],
  ["gitops", "scales", merge("nodepools/web/scale", { spec: { replicas: 2 } })],
  ["viewer", "scales", merge("nodepools/web/scale", { spec: { replicas: 2 } }), "attack:viewer"],
  [
    "gitops",
    "patches with the User-Agent of Marina",
    merge("clusters/shop", { spec: named }, { userAgent: "marina-apiserver/1" }),
    MANAGERS,
  ],
  ["gitops", "creates with an entry of Marina", create("clusters", backedUp), MANAGERS],
  ["gitops", "adds an entry of Marina", update("clusters/bare", { metadata: backedUp }), MANAGERS],
  // The second patch of Velero, after the create.
  ...["clusters/bare", "nodepools/bare", "clusteraccesses/bare", "storageinventories/shared-storage"].map(
    (path): Attempt => [
      "restore",
      `adds the entries of a backup to ${path}`,
      merge(path, { metadata: backedUp }),
    ],
  ),
  [
    "restore",
    "adds the entries of a backup with a change",
    update("nodepools/bare", { metadata: backedUp, spec: named }),
    MANAGERS,
  ],
  [
    "restore",
    "patches as marina-apiserver",
    merge("clusters/shop", { spec: named }, { manager: "marina-apiserver" }),
    MANAGERS,
  ],
  ["neighbour", "applies as marina-operator", apply("clusters/shop", {}, {}, "marina-operator"), MANAGERS],
  ...["kubectl", "argocd-controller", "kustomize-controller", "marinade"].map(
    (manager): Attempt => [
      "gitops",
      `takes fields over as ${manager}`,
      apply("clusters/shop", {}, named, manager),
    ],
  ),
  ["gitops", "patches without naming a manager", merge("clusters/shop", { spec: named })],
  ...[named, { labels: { team: "b" } }, { network: { apiServerRateLimit: { burst: 300 } } }].map(
    (spec): Attempt => [
      "gitops",
      `sets ${JSON.stringify(spec)} in the second of Marina with its User-Agent`,
      inSecondOfMarina(merge("clusters/now", { spec }, { userAgent: "marina-apiserver/1" })),
      SAME_SECOND,
    ],
  ),
  ["gitops", "patches in the second of Marina", inSecondOfMarina(merge("clusters/now", { spec: named }))],
  [
    "gitops",
    "patches in the second of Marina as another manager",
    inSecondOfMarina(merge("clusters/now", { spec: named }, { manager: "kubectl-edit" })),
  ],
  [
    "gitops",
    "labels in the second of Marina",
    inSecondOfMarina(merge("clusters/now", { metadata: { labels: { team: "a" } } })),
  ],
  ["gitops", "deletes what Marina made", remove("clusters/shop")],
];

test.each([...marks, ...metadata, ...managers, ...entries])("%s %s", (...attempt) =>
  expectAnswer(world, attempt),
);
