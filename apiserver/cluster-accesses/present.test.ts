import { describe, expect, test } from "vitest";
import type { ClusterAccess, ClusterAccessStatus } from "../../shared/crd/cluster-access.ts";
import { presentAccess, summarize } from "./present.ts";

const TOKEN = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e15";
const USER = "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01";
const PLACE = {
  orgId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  clusterId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
};

function anAccess(status?: ClusterAccessStatus, metadata: object = {}): ClusterAccess {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: {
      name: "prod-access-x7k2p",
      creationTimestamp: "2026-11-21T09:00:00Z",
      labels: {
        "cloud.marina.dev/id": "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
        "cloud.marina.dev/org-id": PLACE.orgId,
        "cloud.marina.dev/user-id": USER,
        "cloud.marina.dev/api-token-id": TOKEN,
      },
      ...metadata,
    },
    spec: { clusterName: "prod-x7k2p", subject: USER, ttlSeconds: 3600, csr: "CSR" },
    ...(status === undefined ? {} : { status }),
  };
}

function aStatus(type: "Ready" | "Stalled", message: string, certificate?: string): ClusterAccessStatus {
  const lastTransitionTime = "2026-11-21T09:00:01Z";
  return {
    conditions: [{ type, status: "True", reason: "Any", message, lastTransitionTime, observedGeneration: 1 }],
    ...(certificate === undefined ? {} : { certificate }),
  };
}

function aWait(observedGeneration: number): ClusterAccessStatus {
  const lastTransitionTime = "2026-11-21T09:00:01Z";
  const condition = { type: "Ready", status: "False", reason: "Any", message: "it is lost" } as const;
  return { conditions: [{ ...condition, lastTransitionTime, observedGeneration }] };
}

test("an access is shown without anything that opens a door", () => {
  const record = presentAccess(anAccess(aStatus("Ready", "", "CERT")), PLACE, "alice@example.com");
  expect(record).toEqual({
    id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
    org_id: PLACE.orgId,
    cluster_id: PLACE.clusterId,
    subject: USER,
    email: "alice@example.com",
    api_token_id: TOKEN,
    status: "active",
    status_message: null,
    ttl_seconds: 3600,
    created_at: "2026-11-21T09:00:00.000Z",
    expires_at: "2026-11-21T10:00:00.000Z",
  });
});

test("labels that are not ids, of an object created by hand, are ignored", () => {
  const labels = { "cloud.marina.dev/user-id": "alice", "cloud.marina.dev/api-token-id": "x" };
  expect(presentAccess(anAccess(undefined, { labels }), PLACE, null).api_token_id).toBeNull();
});

describe("the state of an access", () => {
  test.each<[string, ClusterAccess, string, string | null]>([
    ["that the operator has not observed", anAccess(), "pending", null],
    ["without a certificate yet", anAccess(aStatus("Ready", "nearly")), "pending", "nearly"],
    ["with one", anAccess(aStatus("Ready", "", "CERT")), "active", null],
    ["that is refused", anAccess(aStatus("Stalled", "one too many")), "refused", "one too many"],
    [
      "that is being deleted",
      anAccess(aStatus("Ready", "", "CERT"), { deletionTimestamp: "2026-11-21T09:30:00Z" }),
      "revoking",
      null,
    ],
    [
      "whose deletion waits",
      anAccess(aWait(2), { deletionTimestamp: "2026-11-21T09:30:00Z", generation: 2 }),
      "revoking",
      "it is lost",
    ],
    [
      "that waited for something else when it was deleted",
      anAccess(aWait(1), { deletionTimestamp: "2026-11-21T09:30:00Z", generation: 2 }),
      "revoking",
      null,
    ],
  ])("%s", (_case, access, status, message) => {
    expect(summarize(access)).toEqual({ status, message });
  });
});
