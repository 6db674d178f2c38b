import { expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { createId } from "../../../shared/program/id.ts";
import { createUnauditedVersions } from "./audit-versions.ts";
import { aCluster } from "./testing.ts";

const first = aCluster(createId(), 1);
const uid = first.metadata.uid ?? "";
const version = (n: number, spec: Partial<Cluster["spec"]> = {}): Cluster => ({
  ...first,
  metadata: { ...first.metadata, resourceVersion: String(n) },
  spec: { ...first.spec, ...spec },
});
const versionsIn = (versions: readonly { metadata: { resourceVersion?: string } }[]) =>
  versions.map(({ metadata }) => metadata.resourceVersion);

test("a version that comes while others are compared is kept", () => {
  const seen = createUnauditedVersions();
  seen.add(version(1), undefined);
  const compared = seen.of(uid);
  seen.add(version(2, { displayName: "Two" }), version(1));
  seen.remove(uid, compared);
  expect(versionsIn(seen.of(uid))).toEqual(["2"]);
});

test("a version in which nothing differs that is audited is left out", () => {
  const seen = createUnauditedVersions();
  seen.add(version(1), undefined);
  seen.add(version(2), version(1));
  expect(versionsIn(seen.of(uid))).toEqual(["1"]);
});

test("of an object that is never compared, the first and the latest versions are kept", () => {
  const seen = createUnauditedVersions();
  for (let n = 1; n <= 150; n += 1) seen.add(version(n, { displayName: `${n}` }), version(n - 1));
  expect(seen.of(uid)).toHaveLength(100);
  expect(versionsIn(seen.of(uid)).slice(0, 2)).toEqual(["1", "52"]);
});

test("of an object that is never compared, large versions are fewer: the first and as many of the latest as there is room for", () => {
  const seen = createUnauditedVersions();
  const large = "a".repeat(100_000);
  for (let n = 1; n <= 20; n += 1) seen.add(version(n, { displayName: `${n} ${large}` }), version(n - 1));
  expect(versionsIn(seen.of(uid))).toEqual(["1", "20"]);
  seen.remove(uid, seen.of(uid));
  for (let n = 21; n <= 60; n += 1) seen.add(version(n, { displayName: `${n}` }), version(n - 1));
  expect(seen.of(uid)).toHaveLength(40);
});

test("what is not compared is not kept: a status, and annotations of other domains", () => {
  const seen = createUnauditedVersions();
  const annotations = { "example.com/large": "a".repeat(1000), "hold.cloud.marina.dev/x": "y" };
  const full = version(1);
  seen.add({ ...full, metadata: { ...full.metadata, annotations }, status: { phase: "Ready" } }, undefined);
  const [kept] = seen.of(uid);
  expect(kept?.status).toBeUndefined();
  expect(kept?.metadata.annotations).toEqual({ "hold.cloud.marina.dev/x": "y" });
  expect(kept?.spec).toEqual(full.spec);
});
