import { expect, test } from "vitest";
import { ANNOTATION_REPLACE_PREFIX, OBJECT_ANNOTATIONS } from "../shared/crd/names.ts";
import type { KubeObject } from "../shared/kube/kind.ts";
import { keepOwnAnnotations } from "./own-annotations.ts";

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
