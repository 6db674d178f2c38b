import { expect, test } from "vitest";
import { z } from "zod";
import { ANNOTATION_REPLACE_PREFIX, OBJECT_ANNOTATIONS } from "../shared/crd/names.ts";
import type { ConfigMap } from "../shared/kube/core-kinds.ts";
import type { KubeObject } from "../shared/kube/kind.ts";
import { createStore } from "../shared/kube/store.ts";
import { createLogger } from "../shared/program/log.ts";
import { createConfigReader, keepOwnAnnotations, parseEntry } from "./caches.ts";

const schema = z.array(z.string());

function aConfigMap(text?: string): ConfigMap {
  const data = text === undefined ? {} : { list: text };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "marina", name: "it" }, data };
}

test("an entry is parsed, one that is not there is undefined, and one that is invalid throws", () => {
  expect(parseEntry(aConfigMap('["a"]'), { key: "list", schema })).toEqual(["a"]);
  expect(parseEntry(aConfigMap(), { key: "list", schema })).toBeUndefined();
  for (const [text, error] of [
    ["[", /JSON/],
    ["[1]", /expected string/],
  ] as const)
    expect(() => parseEntry(aConfigMap(text), { key: "list", schema })).toThrow(error);
});

test("of content that becomes invalid the last valid one stays", () => {
  const store = createStore<ConfigMap>();
  const log = createLogger({ name: "test", level: "silent" });
  const read = createConfigReader(store, { key: "list", schema, initial: ["initial"], log });
  expect(read()).toEqual(["initial"]);
  for (const [text, value] of [
    ['["a"]', ["a"]],
    ["[", ["a"]],
    ['["b"]', ["b"]],
  ] as const) {
    store.set(aConfigMap(text));
    expect(read()).toEqual(value);
  }
});

const own = Object.fromEntries(
  [...OBJECT_ANNOTATIONS, `${ANNOTATION_REPLACE_PREFIX}node-1`].map((name) => [name, "x"]),
);

test.each([
  [
    "Marina's annotations alone",
    { ...own, "argocd.argoproj.io/sync-wave": "1", "cloud.marina.dev.x": "1" },
    own,
  ],
  ["no annotations where it has only others", { "a.test/b": "x" }, {}],
  ["none where it has none", undefined, undefined],
])("of an object the cache keeps %s", (_, annotations, kept) => {
  const object: KubeObject = {
    apiVersion: "v1",
    kind: "X",
    metadata: { name: "web", ...(annotations && { annotations }) },
  };
  const { metadata } = keepOwnAnnotations(object);
  expect(metadata).toEqual({ name: "web", annotations: kept });
  expect(object.metadata.annotations).toBe(annotations);
});
