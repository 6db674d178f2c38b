import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../program/id.ts";
import { FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../names.ts";
import { openWorld, pathOf, type Writer } from "./testing.ts";
import {
  type Attempt,
  apply,
  attempt,
  create,
  expectAnswer,
  make,
  merge,
  type Request,
  remove,
  replace,
} from "./testing-attempts.ts";

/** Keeps what is deleted in its place. */
const KEEP = "example.com/keep";

const world = setUp(openWorld);

/**
 * Creates an object, deletes it if `deleted`, and sends the attempt to it. A running operator may act on the object
 * earlier: then all is done again with another object.
 */
async function attemptAt(
  resource: string,
  metadata: Record<string, unknown>,
  { deleted, who, request }: { deleted: boolean; who: Writer; request: (target: string) => Request },
  expected: string,
): Promise<string> {
  return waitFor(`${who} to get the answer "${expected}"`, async () => {
    const target = `${resource}/o-${randomUUID().slice(0, 8)}`;
    await make(world, target, metadata);
    const path = pathOf(resource, world.namespace, target.split("/")[1]);
    if (deleted) await world.send("admin", { method: "DELETE", path });
    const { status, body } = await attempt(world, who, request(target));
    const answer = status < 300 ? "allowed" : body.message;
    return answer.includes(expected) ? answer : undefined;
  });
}

const WAIT = "is removed by Marina when nothing of the object is left: wait";
const MISSING = "is missing, which Marina adds again: try again in a moment";
const held = { finalizers: [FINALIZER, KEEP] };
const without = (target: string) => merge(target, { metadata: { finalizers: [KEEP] } });
const withNone = (target: string) => merge(target, { metadata: { finalizers: null } });

test.each([
  ["clusters", "gitops", without, WAIT],
  ["clusters", "gitops", withNone, WAIT],
  ["clusters", "gitops", (target: string) => replace(target, { finalizers: [KEEP] }), WAIT],
  ["nodepools", "gitops", without, WAIT],
  ["nodepools", "neighbour", withNone, WAIT],
  ["clusteraccesses", "engineer", without, WAIT],
  ["clusters", "engineer", withNone, WAIT],
  ["clusters", "restore", withNone, WAIT],
  ["clusters", "breakGlass", without, "allowed"],
  ["nodepools", "breakGlass", without, "allowed"],
  ["clusteraccesses", "breakGlass", without, "allowed"],
  ["clusters", "operator", without, "allowed"],
] as const)(
  "of one of the %s that is deleted, %s removes the finalizer %#",
  async (resource, who, request, expected) => {
    expect(await attemptAt(resource, held, { deleted: true, who, request }, expected)).toContain(expected);
  },
);

test.each([
  ["clusters", "gitops", { labels: { [LABEL_ID]: createId() } }, MISSING],
  ["nodepools", "gitops", { labels: { [LABEL_ID]: createId() } }, MISSING],
  ["clusters", "gitops", { status: { observedGeneration: 1 } }, MISSING],
  ["nodepools", "engineer", { status: { observedGeneration: 1 } }, MISSING],
  ["clusteraccesses", "engineer", { labels: { [LABEL_ID]: createId() } }, MISSING],
  ["clusters", "breakGlass", { labels: { [LABEL_ID]: createId() } }, "allowed"],
  ["clusters", "apiserver", { status: { observedGeneration: 1 } }, "allowed"],
  // As `clusterctl move` does, by an administrator.
  ["clusters", "admin", { labels: { [LABEL_ID]: createId() } }, "allowed"],
  ["clusters", "gitops", {}, "allowed"],
  ["nodepools", "gitops", {}, "allowed"],
  ["clusters", "gitops", { ...held, labels: { [LABEL_ID]: createId() } }, "allowed"],
] as const)(
  "without the finalizer, one of the %s is deleted by %s %#",
  async (resource, who, metadata, expected) => {
    const answer = await attemptAt(resource, metadata, { deleted: false, who, request: remove }, expected);
    expect(answer).toContain(expected);
  },
);

test.each(["clusters", "nodepools", "clusteraccesses"])(
  "each request of `clusterctl move` about one of the %s passes for an administrator, and those to the source in an emergency",
  async (resource) => {
    const target = `${resource}/moved`;
    const [id, orgId] = [createId(), createId()];
    const owned = { labels: { [LABEL_ID]: id, [LABEL_ORG_ID]: orgId }, finalizers: [FINALIZER] };
    await make(world, target, owned);
    const { body: live } = await world.send("admin", {
      method: "GET",
      path: pathOf(resource, world.namespace, "moved"),
    });
    const { finalizers, labels, annotations } = live.metadata;
    const own = { manager: "marina-operator", operation: "Apply", apiVersion: live.apiVersion };
    const managedFields = [...live.metadata.managedFields, { ...own, fieldsType: "FieldsV1", fieldsV1: {} }];
    const owner = { apiVersion: live.apiVersion, kind: "Cluster", name: "moved", uid: createId() };
    const moved = { finalizers, labels, annotations, managedFields, ownerReferences: [owner] };
    await expectAnswer(world, ["admin", "creates it in the target", create(resource, moved)]);
    const mark = { annotations: { "clusterctl.cluster.x-k8s.io/delete-for-move": "" } };
    for (const who of ["admin", "breakGlass"] as const) {
      await expectAnswer(world, [who, "marks it in the source", merge(target, { metadata: mark })]);
      await expectAnswer(world, [who, "takes its finalizers", withNone(target)]);
      await expectAnswer(world, [who, "deletes it", remove(target)]);
    }
  },
);

test.each(["clusters", "nodepools"])(
  "the last request of `clusterctl move` about one of the %s that is protected is refused in the source",
  async (resource) => {
    const target = `${resource}/staying`;
    await make(world, target, { finalizers: [FINALIZER], spec: { deletionProtection: true } });
    for (const who of ["admin", "breakGlass"] as const) {
      await expectAnswer(world, [who, "takes its finalizers", withNone(target)]);
      await expectAnswer(world, [who, "deletes it", remove(target), "is protected from deletion"]);
    }
  },
);

test("an object that is not reconciled because of its Namespace is deleted without the finalizer", async () => {
  const stalled = {
    type: "Stalled",
    status: "True",
    reason: "UnknownOrganization",
    message: "This namespace belongs to no organization.",
    lastTransitionTime: "2026-01-01T00:00:00Z",
    observedGeneration: 1,
  };
  await make(world, "clusters/lost", { status: { observedGeneration: 1, conditions: [stalled] } });
  expect((await attempt(world, "gitops", remove("clusters/lost"))).status).toBe(200);
});

test("the deletion of a whole Namespace or collection keeps to the same rules", async () => {
  // The collection is limited to this object: until all others were deleted, the operator would have added the
  // finalizer.
  const collection = (target: string): Request => {
    const fieldSelector = `metadata.name=${target.split("/")[1]}`;
    return (place) => {
      const { query, ...rest } = remove("clusters")(place);
      return { ...rest, query: { ...query, fieldSelector } };
    };
  };
  const young = { labels: { [LABEL_ID]: createId() } };
  const who = "namespaceController";
  const answer = await attemptAt("clusters", young, { deleted: false, who, request: collection }, MISSING);
  expect(answer).toContain(MISSING);
});

describe.each([
  ["clusters", "The cluster kept"],
  ["nodepools", "The node pool kept"],
])("one of the %s that is protected", (resource, subject) => {
  const target = `${resource}/kept`;
  const ofCollection =
    (propagationPolicy: string): Request =>
    ({ namespace }) => ({
      method: "DELETE",
      path: pathOf(resource, namespace),
      query: { dryRun: "All", fieldSelector: "metadata.name=kept", propagationPolicy },
    });
  const cascades = ["Background", "Foreground", "Orphan"];
  const lift = { spec: { deletionProtection: false } };

  test("is deleted by nobody but Marina's programs until its protection is lifted, alone or as a collection and with every cascade", async () => {
    await make(world, target, { finalizers: [FINALIZER], spec: { deletionProtection: true } });
    for (const who of ["gitops", "engineer", "breakGlass", "admin", "namespaceController"] as const) {
      const mayDeleteAll = who === "admin" || who === "namespaceController";
      const single = cascades.map((cascade) => remove(target, cascade));
      for (const request of mayDeleteAll ? [...single, ...cascades.map(ofCollection)] : single) {
        const { status, body } = await attempt(world, who, request);
        expect([who, status]).toEqual([who, 403]);
        expect(body.message).toContain(
          `${subject} is protected from deletion: set spec.deletionProtection to false first.`,
        );
      }
    }
    // The operator deletes the node pools of a cluster that is deleted, and no cluster.
    for (const who of resource === "clusters"
      ? (["apiserver"] as const)
      : (["apiserver", "operator"] as const))
      expect((await attempt(world, who, remove(target))).status).toBe(200);
    const { query: _dryRun, ...lifting } = merge(target, lift)(world);
    const lifted = await world.send("gitops", lifting);
    expect([lifted.status, lifted.body.spec.deletionProtection]).toEqual([200, false]);
    expect((await attempt(world, "gitops", remove(target))).status).toBe(200);
    expect((await attempt(world, "namespaceController", ofCollection("Background"))).status).toBe(200);
  });

  test("is not protected any more once its deletion has begun", async () => {
    const request = (deleted: string) => merge(deleted, { spec: { deletionProtection: true } });
    const late = "it is being deleted already";
    const options = { deleted: true, who: "gitops", request } as const;
    expect(await attemptAt(resource, held, options, late)).toContain(late);
  });
});

describe.each([
  ["clusters", "cluster"],
  ["nodepools", "node pool"],
])("by one of the %s that has an end date", (resource, noun) => {
  const END = "2040-01-01T00:00:00Z";
  const EARLIER = "2030-01-01T00:00:00Z";
  const LATER = "2050-01-01T00:00:00Z";
  const at = (name: string) => `${resource}/dated-${name}`;
  const set = (name: string, spec: Record<string, unknown>) => merge(at(name), { spec });
  const SOONER = `a new or an earlier spec.expiresAt has the ${noun}`;
  const LIFTED = `lifting spec.deletionProtection before spec.expiresAt has the ${noun}`;

  const scheduling: [what: string, request: Request, refused: string][] = [
    ["gives it an end", set("endless", { expiresAt: LATER }), SOONER],
    ["gives it an end of the past", set("endless", { expiresAt: "2020-01-01T00:00:00Z" }), SOONER],
    ["gives a protected one an end", set("safe", { expiresAt: LATER }), SOONER],
    ["ends and unprotects it", set("safe", { expiresAt: LATER, deletionProtection: false }), SOONER],
    ["brings its end forward", set("ending", { expiresAt: EARLIER }), SOONER],
    ["brings it forward by an offset", set("ending", { expiresAt: "2040-01-01T00:30:00+01:00" }), SOONER],
    ["puts an end before its creation off", set("past", { expiresAt: LATER }), SOONER],
    ["applies an earlier end", apply(at("ending"), {}, { expiresAt: EARLIER }), SOONER],
    ["replaces its end by an earlier one", replace(at("ending"), {}, { expiresAt: EARLIER }), SOONER],
    ["lifts its protection", set("kept", { deletionProtection: false }), LIFTED],
    ["removes its protection", set("kept", { deletionProtection: null }), LIFTED],
    ["replaces it without", replace(at("kept"), {}, { deletionProtection: undefined }), LIFTED],
    ["lifts it with a later end", set("kept", { deletionProtection: false, expiresAt: LATER }), LIFTED],
  ];
  const free: [what: string, request: Request][] = [
    ["creates one that ends", create(resource, {}, { expiresAt: END })],
    ["puts its end off", set("ending", { expiresAt: LATER })],
    ["removes its end", set("ending", { expiresAt: null })],
    ["writes the same moment", set("ending", { expiresAt: "2040-01-01T01:00:00+01:00" })],
    ["removes an end before its creation", set("past", { expiresAt: null })],
    ["writes its end before its creation once more", set("past", { expiresAt: "2020-01-01T01:00:00+01:00" })],
    ["renames it after its end", set("past", { displayName: "Second" })],
    ["renames it", set("ending", { displayName: "Second" })],
    ["protects it", set("ending", { deletionProtection: true })],
    ["lifts its protection and removes its end", set("kept", { deletionProtection: false, expiresAt: null })],
    ["lifts the protection of one without an end", set("safe", { deletionProtection: false })],
  ];

  beforeAll(async () => {
    await make(world, at("endless"), {});
    await make(world, at("safe"), { spec: { deletionProtection: true } });
    await make(world, at("past"), { spec: { expiresAt: "2020-01-01T00:00:00Z" } });
    await make(world, at("ending"), { spec: { expiresAt: END } });
    await make(world, at("kept"), { spec: { expiresAt: END, deletionProtection: true } });
  });

  test.each<Attempt>([
    ...scheduling.flatMap(([what, request, refused]): Attempt[] => [
      ["restore", what, request, refused],
      ...(["gitops", "engineer", "breakGlass", "admin"] as const).map((who): Attempt => [who, what, request]),
    ]),
    ["apiserver", "brings its end forward", set("ending", { expiresAt: EARLIER })],
    ["apiserver", "lifts its protection", set("kept", { deletionProtection: false })],
    ...free.map(([what, request]): Attempt => ["restore", what, request]),
  ])("%s %s", (...one) => expectAnswer(world, one));

  test("the refusal names the object and what to do", async () => {
    const { body } = await attempt(world, "restore", set("ending", { expiresAt: EARLIER }));
    expect(body.message).toContain(
      `the ${noun} dated-ending deleted: it takes the right to delete it; leave it as`,
    );
  });
});

test("a living object may lack the finalizer, which a replace leaves out", async () => {
  await make(world, "clusters/alive", { finalizers: [FINALIZER] });
  for (const request of [withNone("clusters/alive"), replace("clusters/alive")]) {
    expect((await attempt(world, "gitops", request)).status).toBe(200);
  }
});
