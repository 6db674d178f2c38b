import { expect, test } from "vitest";
import { isInSync, withAppliedHash } from "./applied.ts";

const ANNOTATION = "things.test/applied";
const make = (spec: object) =>
  withAppliedHash({ apiVersion: "v1", kind: "Thing", metadata: { name: "a" }, spec }, ANNOTATION);
const desired = make({ size: 2, parts: [{ name: "x", count: 1 }, { name: "y" }], tags: ["a", "b"] });

test("no second apply is needed, whatever the server and other managers added", () => {
  const live = structuredClone(desired) as typeof desired & { status?: object };
  Object.assign(live.metadata, { uid: "u", resourceVersion: "7" });
  live.spec = {
    ...live.spec,
    parts: [{ name: "z" }, { name: "y" }, { name: "x", count: 1, color: "red" }],
  } as never;
  expect(isInSync(desired, live)).toBe(true);
});

test.each([
  { what: "the object is missing", live: undefined },
  { what: "a value differs", live: { ...desired, spec: { ...desired.spec, size: 3 } } },
  {
    what: "an item is missing",
    live: { ...desired, spec: { ...desired.spec, parts: [{ name: "x", count: 1 }] } },
  },
  { what: "a plain list is longer", live: { ...desired, spec: { ...desired.spec, tags: ["a", "b", "c"] } } },
  { what: "the last apply had more fields", live: make({ ...desired.spec, old: true }) },
])("an apply is needed when $what", ({ live }) => {
  expect(isInSync(desired, live)).toBe(false);
});

test("the order of keys makes no difference", () => {
  expect(make({ a: 1, b: 2 }).metadata).toEqual(make({ b: 2, a: 1 }).metadata);
});
