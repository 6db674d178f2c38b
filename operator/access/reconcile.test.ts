import { expect, test } from "vitest";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { FINALIZER, LABEL_ID } from "../../shared/crd/names.ts";
import { findExpiry, MAX_LIVE_ACCESSES, type ObservedAccess, reconcileAccess } from "./reconcile.ts";
import { composeAccessStatus } from "./status.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString();

function anAccess(
  name = "mine",
  metadata: Partial<ClusterAccess["metadata"]> = {},
  status: ClusterAccess["status"] = {},
): ClusterAccess {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: {
      name,
      namespace: "org-x",
      uid: name,
      generation: 1,
      creationTimestamp: at(-60),
      finalizers: [FINALIZER],
      labels: { [LABEL_ID]: name },
      ...metadata,
    },
    spec: { clusterName: "blue", subject: "alice", ttlSeconds: 600, csr: "csr" },
    status,
  };
}

const cluster = { metadata: { name: "blue" } } as Cluster;
const goingCluster = { metadata: { name: "blue", deletionTimestamp: at(-1) } } as Cluster;
const issued = { certificate: "pem" };

function observe(rest: Partial<ObservedAccess> = {}): ObservedAccess {
  return {
    access: anAccess(),
    organization: { kind: "known", id: "x" },
    olderTwin: undefined,
    cluster,
    reachable: true,
    siblings: [],
    ...rest,
  };
}

const others = (count: number, rest: Partial<ClusterAccess["metadata"]> = {}, status = {}) =>
  Array.from({ length: count }, (_, index) => anAccess(`other-${index}`, rest, status));
const older = { creationTimestamp: at(-120) };
const younger = { creationTimestamp: at(-10) };

test.each<[string, Partial<ObservedAccess>, string]>([
  ["one that can be given is given", {}, "grant"],
  [
    "one that was given is given again: the binding may be lost",
    { access: anAccess("mine", {}, issued) },
    "grant",
  ],
  [
    "one in its last second still holds",
    { access: anAccess("mine", { creationTimestamp: at(-599) }) },
    "grant",
  ],
  [
    "one whose time is over is deleted",
    { access: anAccess("mine", { creationTimestamp: at(-600) }) },
    "delete",
  ],
  [
    "one whose cluster goes is deleted",
    { access: anAccess("mine", {}, issued), cluster: goingCluster },
    "delete",
  ],
  ["one without a cluster waits for it", { cluster: undefined }, "wait"],
  ["one without a control plane waits for it", { reachable: false }, "wait"],
  ["one that is deleted is revoked", { access: anAccess("mine", { deletionTimestamp: at(-1) }) }, "revoke"],
  [
    "one that is deleted and over is revoked",
    { access: anAccess("mine", { deletionTimestamp: at(-1), creationTimestamp: at(-900) }) },
    "revoke",
  ],
  [
    "one that we never held is let go",
    { access: anAccess("mine", { deletionTimestamp: at(-1), finalizers: [] }) },
    "ignore",
  ],
  ["a copy is refused", { olderTwin: "org-x/original" }, "refuse"],
  ["nobody's is refused", { organization: { kind: "unknown" } }, "refuse"],
  ["the eleventh is refused", { siblings: others(MAX_LIVE_ACCESSES, older) }, "refuse"],
  ["the tenth is given", { siblings: others(MAX_LIVE_ACCESSES - 1, older) }, "grant"],
  ["younger ones do not count", { siblings: others(20, younger) }, "grant"],
  ["younger ones that were given count", { siblings: others(10, younger, issued) }, "refuse"],
  ["ones that are over do not count", { siblings: others(20, { creationTimestamp: at(-700) }) }, "grant"],
  [
    "ones being deleted do not count",
    { siblings: others(20, { ...older, deletionTimestamp: at(-1) }) },
    "grant",
  ],
])("%s", (_name, rest, kind) => {
  expect(reconcileAccess(observe(rest), NOW).kind).toBe(kind);
});

test("an access ends its time after its creation, whatever happens to its status", () => {
  expect(findExpiry(anAccess("mine", {}, {})).toISOString()).toBe(at(540));
});

test("a status keeps what was issued through a wait, and is written only when it changes", () => {
  const granted = { kind: "granted", certificate: "pem", expiresAt: new Date(at(540)) } as const;
  const first = composeAccessStatus(anAccess(), granted, NOW);
  expect(first).toMatchObject({ certificate: "pem", expiresAt: "2026-03-01T12:09:00Z" });
  expect(composeAccessStatus(anAccess("mine", {}, first), granted, new Date(at(30)))).toBeUndefined();
  const waiting = { kind: "waiting", reason: "ControlPlaneUnavailable", message: "it is silent" } as const;
  const second = composeAccessStatus(anAccess("mine", {}, first), waiting, NOW);
  expect(second).toMatchObject({ certificate: "pem" });
  expect(second?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
    "Ready False",
    "Reconciling True",
    "Stalled False",
  ]);
});
