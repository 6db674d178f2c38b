import { randomUUID } from "node:crypto";
import { beforeAll, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../program/id.ts";
import { ANNOTATION_IDENTITY, LABEL_ID, LABEL_ORG_ID } from "../names.ts";
import { openWorld } from "./testing.ts";
import {
  type Attempt,
  apply,
  create,
  expectAnswer,
  jsonPatch,
  make,
  merge,
  replace,
} from "./testing-attempts.ts";

const ID = createId();
const POOL_ID = createId();
const ORG = randomUUID();
const OTHER = createId();
const own = { labels: { [LABEL_ID]: ID, [LABEL_ORG_ID]: ORG } };
const stolen = { labels: { [LABEL_ID]: OTHER } };

const GIVEN = "are given by Marina: leave them out";
const NEVER = "cannot be changed once it is set";
const NO_RIGHT = "attack:";

const world = setUp(openWorld);

/** `shop` and `web` have ids that their status holds, `young` has one that it does not hold, and `bare` has none. */
beforeAll(async () => {
  await make(world, "clusters/shop", { ...own, status: { id: ID } });
  await make(world, "nodepools/web", { labels: { [LABEL_ID]: POOL_ID }, status: { id: POOL_ID } });
  await make(world, "clusters/young", { labels: { [LABEL_ID]: createId(), [LABEL_ORG_ID]: ORG } });
  await make(world, "clusters/bare", {});
  await make(world, "nodepools/bare", {});
  // The operator deletes an access that has expired.
  const spec = { ttlSeconds: 604_800 };
  await make(world, "clusteraccesses/jane", { labels: { [LABEL_ID]: createId() }, spec });
});

const OUTSIDERS = ["gitops", "engineer", "breakGlass", "namesake", "neighbour"] as const;
const label = (name: string, value: string | null) => ({ metadata: { labels: { [name]: value } } });

const attempts: Attempt[] = [
  ["gitops", "creates a cluster", create("clusters")],
  ["gitops", "applies a new pool", apply("nodepools/new")],
  ...OUTSIDERS.map((who): Attempt => {
    const refused = who === "breakGlass" ? NO_RIGHT : GIVEN;
    return [who, "creates a pool with the id of another", create("nodepools", stolen), refused];
  }),
  ["gitops", "creates a cluster with an id", create("clusters", stolen), GIVEN],
  ["engineer", "creates an access with an id", create("clusteraccesses", stolen), GIVEN],
  ["engineer", "creates a storage inventory with an id", create("storageinventories", stolen), GIVEN],
  [
    "gitops",
    "creates a cluster of another organization",
    create("clusters", { labels: { [LABEL_ORG_ID]: ORG } }),
    GIVEN,
  ],
  ["gitops", "applies a new pool with an id", apply("nodepools/new", stolen), GIVEN],
  ["gitops", "gives an id to a cluster without", merge("clusters/bare", { metadata: stolen }), GIVEN],
  ["gitops", "applies an id to a pool without", apply("nodepools/bare", stolen), GIVEN],
  ["gitops", "replaces a pool by one with an id", replace("nodepools/bare", stolen), GIVEN],
  [
    "gitops",
    "gives an id by a JSON patch",
    jsonPatch("clusters/bare", { op: "add", path: "/metadata/labels", value: stolen.labels }),
    GIVEN,
  ],
  ...(["gitops", "restore", "apiserver", "admin"] as const).map(
    (who): Attempt => [
      who,
      "gives a cluster another id",
      merge("clusters/shop", { metadata: stolen }),
      NEVER,
    ],
  ),
  ["gitops", "replaces a cluster by one with another id", replace("clusters/shop", stolen), NEVER],
  [
    "gitops",
    "moves a cluster to another organization",
    merge("clusters/shop", label(LABEL_ORG_ID, OTHER)),
    NEVER,
  ],
  ["gitops", "removes an id that no status holds", merge("clusters/young", label(LABEL_ID, null)), NEVER],
  ["gitops", "replaces a cluster without its id that no status holds", replace("clusters/young"), NEVER],
  ["engineer", "removes the id of an access", merge("clusteraccesses/jane", label(LABEL_ID, null)), NEVER],
  ["gitops", "replaces a cluster without the id that its status holds", replace("clusters/shop")],
  ["gitops", "replaces a pool without the id that its status holds", replace("nodepools/web")],
  ["gitops", "replaces a cluster with the id that it has", replace("clusters/shop", own)],
  ["gitops", "applies a cluster with the id that it has", apply("clusters/shop", own)],
  [
    "gitops",
    "writes an id into a status",
    merge("clusters/bare/status", { status: { id: OTHER } }),
    NO_RIGHT,
  ],
  [
    "admin",
    "writes another id into a status",
    merge("clusters/shop/status", { status: { id: OTHER } }),
    NEVER,
  ],
  [
    "operator",
    "removes the id from a status",
    merge("nodepools/web/status", { status: { id: null } }),
    NEVER,
  ],
  ["operator", "removes a status with an id", merge("nodepools/web/status", { status: null }), NEVER],
  ["operator", "writes an id into a status", merge("nodepools/bare/status", { status: { id: OTHER } })],
  ["restore", "creates a cluster with its id", create("clusters", own)],
  ["restore", "creates a pool with its id", create("nodepools", stolen)],
  ["restore", "creates an access with its id", create("clusteraccesses", stolen)],
  ["restore", "creates a storage inventory with its id", create("storageinventories", stolen)],
  ["restore", "gives its id to a cluster without", merge("clusters/bare", { metadata: own })],
  [
    "apiserver",
    "creates a cluster with its id",
    create("clusters", own, {}, { manager: "marina-apiserver" }),
  ],
  ["operator", "gives an id to a pool without", merge("nodepools/bare", { metadata: own })],
  ["viewer", "creates a cluster", create("clusters"), NO_RIGHT],
  ["gitops", "creates an access", create("clusteraccesses"), NO_RIGHT],
  ["gitops", "limits the shared storage", create("storageinventories"), NO_RIGHT],
];

/** An id of so many minutes ago. */
const idOf = (minutes: number) => `${hexOf(minutes)}-7000-8000-${"0".repeat(12)}`;
function hexOf(minutes: number): string {
  const digits = (Date.now() - minutes * 60_000).toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}
const came = (confirmation: string, id?: string) => ({
  ...(id !== undefined && { labels: { [LABEL_ID]: id } }),
  annotations: { [ANNOTATION_IDENTITY]: confirmation },
});
const NEW = "is set by Marina alone: leave it out, also of what is restored";

/** For an id, the confirmation counts that names the object, which has no uid before; or, from Marina's programs alone, `new`. */
const confirmations: Attempt[] = (["clusters", "nodepools", "clusteraccesses"] as const).flatMap(
  (resource): Attempt[] => [
    [
      "restore",
      `creates one of ${resource} as new with an id of now`,
      create(resource, came("new", idOf(0))),
      NEW,
    ],
    ["restore", "with one of a day ago", create(resource, came("new", idOf(24 * 60))), NEW],
    ["restore", "with one of the future", create(resource, came("new", idOf(-60))), NEW],
    ["restore", "with none, to give it one later", create(resource, came("new")), NEW],
    ["restore", "applied", apply(`${resource}/new`, came("new", idOf(0))), NEW],
    ["restore", "with one of a backup", create(resource, came("new", idOf(26 * 60)))],
    ["restore", "with one that says no time", create(resource, came("new", randomUUID()))],
    ["restore", "as known, of no object", create(resource, came("known", idOf(0)))],
    ["restore", "as known, of another object", create(resource, came(`known ${randomUUID()}`, idOf(0)))],
    ["restore", "as refused", create(resource, came("refused", idOf(0)))],
    ["breakGlass", "as new", create(resource, came("new", idOf(0))), "attack:"],
    ["engineer", "as new with an id of a backup", create(resource, came("new", idOf(26 * 60))), ""],
    ["apiserver", "as new", create(resource, came("new", idOf(0)), {}, { manager: "marina-apiserver" })],
  ],
);

test.each([...attempts, ...confirmations])("%s %s", (...attempt) => expectAnswer(world, attempt));
