import { expect, test } from "vitest";
import type { Secret } from "../../shared/kube/core-kinds.ts";
import { type CopyChanges, trimToDigest } from "../copies/copy.ts";
import { reconcileCredentials } from "./reconcile.ts";

const secret = (value: string, type = "Opaque"): Secret =>
  trimToDigest({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "cloud", namespace: "org-1" },
    type,
    data: { value },
  });

interface World {
  named?: boolean;
  wanted?: boolean;
  capi?: "known" | "unknown";
  source?: Secret;
  copy?: Secret;
}

const NOTHING = { create: 0, replace: 0, remove: 0 };

test.each<[string, World, Partial<Record<keyof CopyChanges<Secret>, number>>]>([
  ["a cluster whose plan wants it", { wanted: true, source: secret("a") }, { create: 1 }],
  ["a cluster, and no source", { wanted: true }, {}],
  ["no cluster that wants it", { source: secret("a") }, {}],
  ["an equal copy", { wanted: true, source: secret("a"), copy: secret("a") }, {}],
  ["another content", { wanted: true, source: secret("b"), copy: secret("a") }, { replace: 1 }],
  ["another type", { wanted: true, source: secret("a", "x/y"), copy: secret("a") }, { remove: 1 }],
  ["a source that is gone", { wanted: true, copy: secret("a") }, { remove: 1 }],
  ["the last cluster gone", { source: secret("a"), copy: secret("a") }, { remove: 1 }],
  [
    "the last cluster gone, and machines of an unknown cluster",
    { capi: "unknown", source: secret("a"), copy: secret("a") },
    {},
  ],
  [
    "the last cluster gone, and machines of clusters that do not want it",
    { capi: "known", source: secret("a"), copy: secret("a") },
    { remove: 1 },
  ],
  [
    "machines of an unknown cluster, and a renewed source",
    { capi: "unknown", source: secret("b"), copy: secret("a") },
    { replace: 1 },
  ],
  ["a name that no plan has any more, and machines", { named: false, capi: "known", copy: secret("a") }, {}],
  ["a name that no plan has any more, and none", { named: false, copy: secret("a") }, { remove: 1 }],
])("with %s", (_, { named = true, wanted = false, capi, source, copy }, expected) => {
  const byName = (found: Secret | undefined) => new Map(found === undefined ? [] : [["cloud", found]]);
  const changes = reconcileCredentials({
    namespace: { apiVersion: "v1", kind: "Namespace", metadata: { name: "org-1" } },
    named: new Set(named ? ["cloud"] : []),
    wanted: new Set(wanted ? ["cloud"] : []),
    hasCapiCluster: capi !== undefined,
    hasUnknownCapiCluster: capi === "unknown",
    sources: byName(source),
    copies: byName(copy),
  });
  const counts = Object.fromEntries(Object.entries(changes).map(([what, list]) => [what, list.length]));
  expect(counts).toEqual({ ...NOTHING, ...expected });
});
