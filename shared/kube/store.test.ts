import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { KubeObject } from "./kind.ts";
import { createStore } from "./store.ts";

const object = (name: string, owner: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { namespace: "n", name, labels: { owner } },
});
const byOwner = { owner: (thing: KubeObject) => [thing.metadata.labels?.owner ?? ""] };

test("an index follows every change", () => {
  const store = createStore(byOwner);
  store.set(object("a", "x"));
  store.set(object("b", "x"));
  store.set(object("a", "y"));
  expect(store.byIndex("owner", "x").map((thing) => thing.metadata.name)).toEqual(["b"]);
  expect(store.byIndex("owner", "y").map((thing) => thing.metadata.name)).toEqual(["a"]);
  store.remove("n/a");
  expect(store.byIndex("owner", "y")).toEqual([]);
  expect(store.keys()).toEqual(["n/b"]);
});

test("of an object with several index values only those that changed move it", () => {
  const store = createStore({ labels: (thing: KubeObject) => Object.keys(thing.metadata.labels ?? {}) });
  const labelled = (name: string, ...labels: string[]): KubeObject => {
    const { metadata, ...rest } = object(name, "x");
    return { ...rest, metadata: { ...metadata, labels: Object.fromEntries(labels.map((key) => [key, ""])) } };
  };
  const namesOf = (label: string) => store.byIndex("labels", label).map(({ metadata }) => metadata.name);
  store.set(labelled("a", "x", "y"));
  store.set(labelled("b", "x", "y"));
  store.set(labelled("a", "x", "z"));
  expect([namesOf("x"), namesOf("y"), namesOf("z")]).toEqual([["a", "b"], ["b"], ["a"]]);
});

test("a replaced object keeps its position", () => {
  const store = createStore(byOwner);
  for (const name of ["a", "b", "a"]) store.set(object(name, "x"));
  expect(store.byIndex("owner", "x").map((thing) => thing.metadata.name)).toEqual(["a", "b"]);
  expect(store.keys()).toEqual(["n/a", "n/b"]);
});

test("an undeclared index is a TypeError", () => {
  expect(() => createStore(byOwner).byIndex("colour", "red")).toThrow(TypeError);
});

test("stored objects cannot be changed", () => {
  const store = createStore<KubeObject>();
  store.set(object("a", "x"));
  const kept = store.get("n/a");
  expect(() => Object.assign(kept?.metadata.labels ?? {}, { owner: "z" })).toThrow(TypeError);
});

test("objects with equal texts hold one copy of each, also in nested lists", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const message = "x".repeat(2_000);
  const parse = (index: number): KubeObject =>
    JSON.parse(
      JSON.stringify({
        ...object(`o${index}`, "x"),
        status: { conditions: [{ message }], messages: [message] },
      }),
    );
  const store = createStore<KubeObject>();
  collectGarbage();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 2_000; index++) store.set(parse(index));
  collectGarbage();
  // One of the two texts of each object alone would be 4 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000);
  expect(store.get("n/o999")).toEqual(parse(999));
});

test.each([
  { seen: "100", requested: "99", shown: true },
  { seen: "100", requested: "100", shown: true },
  { seen: "9", requested: "10", shown: false },
  { seen: "18446744073709551616", requested: "18446744073709551615", shown: true },
])("at $seen the store has seen $requested: $shown", ({ seen, requested, shown }) => {
  const store = createStore<KubeObject>();
  store.advance(seen);
  expect(store.hasSeen(requested)).toBe(shown);
});
