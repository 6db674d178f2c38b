import { expect, test } from "vitest";
import { composeOperations } from "./kube-write.ts";

const REQUEST_ID = "/metadata/annotations/cloud.marina.dev~1request-id";
const WRITTEN = {
  apiVersion: "cloud.marina.dev/v1alpha1",
  kind: "NodePool",
  metadata: {
    name: "web",
    uid: "u",
    generation: 3,
    resourceVersion: "9",
    annotations: { "cloud.marina.dev/request-id": "before", other: "kept" },
  },
  spec: { desiredNodes: 1, network: { publicEndpoint: true, authorizedCIDRs: ["10.0.0.0/8"] } },
};
const { annotations: _, ...metadata } = WRITTEN.metadata;
const UNWRITTEN = { ...WRITTEN, metadata };
const change = { spec: { desiredNodes: 2 }, requestId: "now" };

test("a change holds while uid, generation and the last request are those that were read", () => {
  expect(composeOperations(WRITTEN, change)).toEqual([
    { op: "test", path: "/metadata/uid", value: "u" },
    { op: "test", path: "/metadata/generation", value: 3 },
    { op: "test", path: REQUEST_ID, value: "before" },
    { op: "add", path: REQUEST_ID, value: "now" },
    { op: "add", path: "/spec/desiredNodes", value: 2 },
  ]);
});

test("a change of an object that REST has not written holds for its very version", () => {
  expect(composeOperations(UNWRITTEN, change)).toEqual([
    { op: "test", path: "/metadata/uid", value: "u" },
    { op: "test", path: "/metadata/resourceVersion", value: "9" },
    { op: "add", path: "/metadata/annotations", value: {} },
    { op: "add", path: REQUEST_ID, value: "now" },
    { op: "add", path: "/spec/desiredNodes", value: 2 },
  ]);
});

test.each([
  ["sets a field", { maxNodes: 0 }, [{ op: "add", path: "/spec/maxNodes", value: 0 }]],
  ["removes one", { desiredNodes: null }, [{ op: "remove", path: "/spec/desiredNodes" }]],
  ["removes nothing that is not there", { maxNodes: null }, []],
  ["replaces a list", { zones: ["a"] }, [{ op: "add", path: "/spec/zones", value: ["a"] }]],
  [
    "merges an object",
    { network: { authorizedCIDRs: ["10.1.0.0/16"], rateLimit: 5, publicEndpoint: null } },
    [{ op: "add", path: "/spec/network", value: { authorizedCIDRs: ["10.1.0.0/16"], rateLimit: 5 } }],
  ],
  [
    "adds an object, without what it would remove",
    { placement: { zone: "a", region: null } },
    [{ op: "add", path: "/spec/placement", value: { zone: "a" } }],
  ],
])("a change %s as a merge patch does", (_name, spec, operations) => {
  expect(composeOperations(WRITTEN, { spec, requestId: "now" }).slice(4)).toEqual(operations);
});

test("other annotations are set by their escaped names", () => {
  const annotations = { "replace.cloud.marina.dev/node~1": "r" };
  expect(composeOperations(WRITTEN, { spec: {}, annotations, requestId: "now" }).slice(3)).toEqual([
    { op: "add", path: "/metadata/annotations/replace.cloud.marina.dev~1node~01", value: "r" },
    { op: "add", path: REQUEST_ID, value: "now" },
  ]);
});
