import { expect, test } from "vitest";
import { findClusterCapabilities } from "./platform-config.ts";
import type { ProjectedCluster } from "./project/index.ts";

const published = { default: { class: "standard-v2" }, dev: { class: { no: "There is none." } } };

test.each<[string, { plan?: string; clusterClass?: string }, object | undefined]>([
  ["a new cluster without a plan", {}, published.default],
  ["a cluster of the class that new ones get", { clusterClass: "standard-v2" }, published.default],
  ["a cluster of an older class", { clusterClass: "standard-v1" }, undefined],
  ["a cluster whose plan has no class any more", { plan: "dev", clusterClass: "standard-v1" }, undefined],
  ["a plan that is not published", { plan: "scale" }, undefined],
  ["a plan with the name of a property of every object", { plan: "constructor" }, undefined],
])("what %s can have is known or not", (_, { plan, clusterClass }, expected) => {
  const object = { spec: { plan }, status: { clusterClass } };
  expect(findClusterCapabilities(published, { object } as unknown as ProjectedCluster)).toEqual(expected);
});
