import { expect, test } from "vitest";
import type { Change } from "../../shared/kube/reflector.ts";
import type { CacheSet, Listener } from "../caches.ts";
import type { ClusterClass } from "../capi/kinds.ts";
import { CAPABILITIES } from "./run.ts";
import { watchCapabilities } from "./watch.ts";

test("variables that an extension gives a class are looked at once they are in its status", () => {
  const listeners: Listener<ClusterClass>[] = [];
  const listen = (name: string, listener: never) => {
    if (name === "clusterClasses") listeners.push(listener);
  };
  const added: string[] = [];
  watchCapabilities({ listen } as unknown as CacheSet, { add: (key) => added.push(key) });
  const previous: ClusterClass = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "ClusterClass",
    metadata: { name: "standard", namespace: "classes", generation: 1 },
  };
  const object = { ...previous, status: { variables: [{ name: "authorizedCIDRs" }] } };
  const change: Change<ClusterClass> = { type: "updated", previous, object, initial: false };
  for (const listener of listeners) listener(change);
  expect(added).toEqual([CAPABILITIES]);
});
