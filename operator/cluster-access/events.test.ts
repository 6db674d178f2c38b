import { expect, test } from "vitest";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { aCluster } from "../testing-cluster.ts";
import { composeExpiryEvents, composeRevocationEvents } from "./reconcile.ts";

const NOW = new Date("2026-01-01T00:05:00Z");
const ACCESS: ClusterAccess = {
  apiVersion: "cloud.marina.dev/v1",
  kind: "ClusterAccess",
  metadata: { name: "ann", namespace: "org", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { clusterName: "demo", subject: "ann", ttlSeconds: 600, csr: "csr" },
};
const { cluster } = aCluster().observed;
const target = { id: "one", cluster, tenant: {} as never };
const deleted = { ...cluster, metadata: { ...cluster.metadata, deletionTimestamp: NOW.toISOString() } };

const END = new Date("2026-01-01T00:10:00Z");
const deletedAt = (deletionTimestamp: string) => ({
  ...ACCESS,
  metadata: { ...ACCESS.metadata, deletionTimestamp },
});

test.each([
  ["an access that was revoked", ACCESS, target, NOW, 1],
  ["none that has expired", deletedAt("2026-01-01T00:10:00Z"), target, END, 0],
  ["one that was revoked, and has expired since", deletedAt("2026-01-01T00:01:00Z"), target, END, 1],
  ["none of a cluster that is deleted", ACCESS, { ...target, cluster: deleted }, NOW, 0],
  ["none that never was given", ACCESS, undefined, NOW, 0],
])("the feed of a cluster names %s", (_, access, given, now, count) => {
  const events = composeRevocationEvents(access, given, now);
  expect(events.map(({ reason, note }) => `${reason} ${note}`)).toEqual(
    Array.from({ length: count }, () => expect.stringMatching(/^AccessRevoked An access of ann was revoked/)),
  );
});

test("the id of a person is in no Event", () => {
  const subject = "5c6e0f0e-7d52-4d38-8a55-9be0f3a4b002";
  const [event] = composeRevocationEvents({ ...ACCESS, spec: { ...ACCESS.spec, subject } }, target, NOW);
  expect(event?.note).toMatch(/^An access was revoked: /);
});

test.each([
  ["an access that ended before it was issued", {}, cluster, 1],
  ["none that was issued", { certificate: "pem" }, cluster, 0],
  ["none of a cluster that is deleted", {}, deleted, 0],
  ["none of a cluster that does not exist", {}, undefined, 0],
])("the feed of a cluster says what became of %s", (_, status, given, count) => {
  const events = composeExpiryEvents({ ...ACCESS, status }, given);
  const note =
    "AccessExpired An access of ann ended before it could be issued: its time counts from its creation";
  expect(events.map((event) => `${event.reason} ${event.note}`)).toEqual(
    Array.from({ length: count }, () => expect.stringContaining(note)),
  );
});

test("an access that would not have been issued is no news for its cluster", () => {
  const subject = "5c6e0f0e-7d52-4d38-8a55-9be0f3a4b002";
  expect(composeExpiryEvents({ ...ACCESS, spec: { ...ACCESS.spec, subject } }, cluster)).toEqual([]);
});
