import { describe, expect, test } from "vitest";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { ManagedFieldsEntry, ObjectMeta } from "../../../shared/kube/kind.ts";
import { toProjectedCluster } from "./project.ts";
import { mayReplace } from "./rows.ts";
import { deletedEntry, hasNewTransitions, transitionEntriesOf } from "./transitions.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

function aCluster(metadata: Partial<ObjectMeta> = {}, status?: Cluster["status"]): Cluster {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: {
      name: "first-abcde",
      namespace: "org-1",
      uid: "7205b06a-a404-49fb-bc96-844d27d421e3",
      resourceVersion: "9007199254740993",
      creationTimestamp: "2026-11-21T09:00:00Z",
      labels: { "cloud.marina.dev/id": ID.toUpperCase() },
      ...metadata,
    },
    spec: { version: "1.34.2", publicEndpoint: true },
    ...(status === undefined ? {} : { status }),
  };
}

function project(cluster: Cluster) {
  const projected = toProjectedCluster(cluster, ID);
  if (projected === undefined) throw new Error("not projected");
  return projected;
}

describe("projecting", () => {
  test("keeps a resourceVersion beyond 2^53, a lower-case id and no managedFields", () => {
    const projected = project(aCluster({ managedFields: [{ manager: "m", operation: "Update" }] }));
    expect(projected.resourceVersion).toBe(9007199254740993n);
    expect(projected.id).toBe(ID);
    expect(projected.displayName).toBe("first-abcde");
    expect(projected.object.metadata).not.toHaveProperty("managedFields");
  });

  test.each<[string, Record<string, string>]>([
    ["no label", {}],
    ["a label that is no UUID", { "cloud.marina.dev/id": "first" }],
  ])("an object with %s is not served", (_, labels) => {
    expect(toProjectedCluster(aCluster({ labels }), ID)).toBeUndefined();
  });

  test("updated_at is the newest time of a manager of the spec, the network's its own manager's", () => {
    const at = (time: string, change: Partial<ManagedFieldsEntry>): ManagedFieldsEntry => ({
      manager: "marina-apiserver",
      operation: "Update",
      time,
      fieldsV1: { "f:spec": { "f:displayName": {} } },
      ...change,
    });
    const projected = project(
      aCluster({
        managedFields: [
          at("2026-11-21T10:00:00Z", {}),
          at("2026-11-21T11:00:00Z", { manager: "marina-apiserver-network" }),
          at("2026-11-21T12:00:00Z", {
            manager: "marina-operator-status",
            subresource: "status",
            fieldsV1: { "f:status": {} },
          }),
          at("2026-11-21T13:00:00Z", {
            manager: "marina-operator",
            fieldsV1: { "f:metadata": { "f:finalizers": {}, "f:labels": {} } },
          }),
          // The last field of this manager was taken away.
          at("2026-11-21T11:30:00Z", {
            manager: "marina-apiserver-expiry",
            fieldsV1: { "f:metadata": { "f:annotations": { "f:cloud.marina.dev/request-id": {} } } },
          }),
        ],
      }),
    );
    expect(projected.updatedAt.toISOString()).toBe("2026-11-21T11:30:00.000Z");
    expect(projected.networkUpdatedAt.toISOString()).toBe("2026-11-21T11:00:00.000Z");
    expect(project(aCluster()).networkUpdatedAt.toISOString()).toBe("2026-11-21T09:00:00.000Z");
  });
});

test.each<
  [string, { resourceVersion: bigint; deletedAt: Date | null } | undefined, bigint, boolean, boolean]
>([
  ["an unknown object", undefined, 1n, false, true],
  ["a newer version", { resourceVersion: 9n, deletedAt: null }, 10n, false, true],
  ["the same version", { resourceVersion: 9n, deletedAt: null }, 9n, true, false],
  ["an older version", { resourceVersion: 10n, deletedAt: null }, 9n, false, false],
  ["an older version after a restore", { resourceVersion: 10n, deletedAt: null }, 9n, true, true],
  ["anything after the deletion", { resourceVersion: 9n, deletedAt: new Date(0) }, 10n, true, false],
])("the guard on %s", (_, stored, resourceVersion, authoritative, allowed) => {
  expect(mayReplace(stored, { resourceVersion, authoritative })).toBe(allowed);
});

describe("the transition log", () => {
  const status: Cluster["status"] = {
    transitions: [
      { sequence: 1, type: "Ready", at: "2026-11-21T09:05:00Z", version: "1.34.2" },
      { sequence: 2, type: "Degraded", at: "2026-11-21T09:06:00Z", reason: "NodesUnhealthy" },
    ],
  };

  test("holds the creation and every transition in the status", () => {
    expect(transitionEntriesOf(project(aCluster({}, status)))).toEqual([
      { type: "created", at: new Date("2026-11-21T09:00:00Z"), sequence: null, details: {} },
      { type: "ready", at: new Date("2026-11-21T09:05:00Z"), sequence: 1, details: { version: "1.34.2" } },
      {
        type: "degraded",
        at: new Date("2026-11-21T09:06:00Z"),
        sequence: 2,
        details: { reason: "NodesUnhealthy" },
      },
    ]);
  });

  test("is written only when the status lists new transitions", () => {
    expect(hasNewTransitions(aCluster(), aCluster({}, status))).toBe(true);
    expect(hasNewTransitions(aCluster({}, status), aCluster({ generation: 2 }, status))).toBe(false);
  });

  test("ends with the deletion", () => {
    expect(deletedEntry(new Date(5))).toEqual({
      type: "deleted",
      at: new Date(5),
      sequence: null,
      details: {},
    });
  });
});
