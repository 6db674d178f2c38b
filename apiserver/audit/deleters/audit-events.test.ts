import { expect, test } from "vitest";
import { NIL_ID } from "../../../shared/program/id.ts";
import { readDeletionRequests } from "./audit-events.ts";

const NOW = new Date("2026-11-21T09:00:05Z");

const objectRef = {
  apiGroup: "cloud.marina.dev",
  apiVersion: "v1",
  resource: "clusters",
  namespace: `org-${NIL_ID}`,
  name: "shop",
};
const deleteOptions = {
  kind: "DeleteOptions",
  apiVersion: "cloud.marina.dev/v1",
  preconditions: { uid: NIL_ID },
  propagationPolicy: "Background",
};
/** As a kube-apiserver of 1.34 writes it at the level Request, of `kubectl delete`. */
const event = {
  level: "Request",
  auditID: "4d2cd8a5-1b8e-4b2f-8a3c-0d9a5b6c7d8e",
  stage: "ResponseComplete",
  requestURI: `/apis/cloud.marina.dev/v1/namespaces/org-${NIL_ID}/clusters/shop`,
  verb: "delete",
  user: { username: "oidc:bob", groups: ["system:authenticated"], extra: { __proto__: ["x"] } },
  sourceIPs: ["192.0.2.7"],
  userAgent: "kubectl/v1.34.2",
  objectRef,
  responseStatus: { metadata: {}, code: 200 },
  requestObject: deleteOptions,
  requestReceivedTimestamp: "2026-11-21T09:00:00.123456Z",
  stageTimestamp: "2026-11-21T09:00:00.654321Z",
  annotations: { "authorization.k8s.io/decision": "allow" },
};
const request = {
  orgId: NIL_ID,
  resource: "clusters",
  name: "shop",
  username: "oidc:bob",
  impersonator: "",
  receivedAt: new Date("2026-11-21T09:00:00.123Z"),
  completedAt: new Date("2026-11-21T09:00:00.654Z"),
};
const { name: _name, ...collectionRef } = objectRef;
const listOf = (...items: unknown[]) => ({ apiVersion: "audit.k8s.io/v1", kind: "EventList", items });

test.each<[string, object, object]>([
  ["a deletion", {}, {}],
  ["one that is accepted and goes on", { responseStatus: { code: 202 } }, {}],
  ["a node pool's", { objectRef: { ...objectRef, resource: "nodepools" } }, { resource: "nodepools" }],
  [
    "an access's",
    { objectRef: { ...objectRef, resource: "clusteraccesses" } },
    { resource: "clusteraccesses" },
  ],
  ["a collection's", { verb: "deletecollection", objectRef: collectionRef }, { name: "" }],
  [
    "one under another name, with who took it",
    { impersonatedUser: { username: "carol" } },
    { username: "carol", impersonator: "oidc:bob" },
  ],
  [
    "a name of any length, cut",
    { user: { username: "x".repeat(10_000) } },
    { username: `${"x".repeat(252)}…` },
  ],
  [
    "a name of characters outside the basic plane, cut between two of them",
    { user: { username: `${"x".repeat(251)}${"😀".repeat(300)}` } },
    { username: `${"x".repeat(251)}😀…` },
  ],
  [
    "a name of so many of these as are kept",
    { user: { username: "😀".repeat(253) } },
    { username: "😀".repeat(253) },
  ],
  ["one without options, or at the level Metadata", { requestObject: undefined }, {}],
  ["one with no dry run", { requestObject: { ...deleteOptions, dryRun: [] } }, {}],
])("%s is read", (_what, change, expected) => {
  expect(readDeletionRequests(listOf({ ...event, ...change }), NOW)).toEqual([{ ...request, ...expected }]);
});

test.each<[string, unknown]>([
  ["a read", { ...event, verb: "get" }],
  ["a change", { ...event, verb: "patch" }],
  ["one that was refused", { ...event, responseStatus: { code: 403 } }],
  ["one of nothing", { ...event, responseStatus: { code: 404 } }],
  ["one without a response", { ...event, responseStatus: undefined }],
  ["one that has only arrived", { ...event, stage: "RequestReceived" }],
  ["a dry run by kubectl", { ...event, requestObject: { ...deleteOptions, dryRun: ["All"] } }],
  ["a dry run in the address", { ...event, requestURI: `${event.requestURI}?dryRun=All` }],
  [
    "a dry run of a collection",
    {
      ...event,
      verb: "deletecollection",
      objectRef: collectionRef,
      requestObject: { ...deleteOptions, dryRun: ["All"] },
    },
  ],
  ["one of a subresource", { ...event, objectRef: { ...objectRef, subresource: "status" } }],
  ["one of another kind", { ...event, objectRef: { ...objectRef, resource: "storageinventories" } }],
  ["one of Cluster API", { ...event, objectRef: { ...objectRef, apiGroup: "cluster.x-k8s.io" } }],
  ["one of another Namespace", { ...event, objectRef: { ...objectRef, namespace: "kube-system" } }],
  [
    "one of a Namespace like an organization's",
    { ...event, objectRef: { ...objectRef, namespace: "org-1" } },
  ],
  ["one without a name of the object", { ...event, objectRef: collectionRef }],
  ["one of a long name", { ...event, objectRef: { ...objectRef, name: "x".repeat(254) } }],
  ["one of a name with half a character", { ...event, objectRef: { ...objectRef, name: "a\ud800" } }],
  ["one without a user", { ...event, user: { username: "" } }],
  ["one that Postgres cannot store", { ...event, user: { username: "a\0b" } }],
  ["half a character", { ...event, user: { username: "\ud800" } }],
  ["one of next year", { ...event, stageTimestamp: "2027-11-21T09:00:00Z" }],
  ["no event", "delete"],
])("%s says nothing, and hides no other event", (_what, other) => {
  expect(readDeletionRequests(listOf(other, event, other), NOW)).toEqual([request]);
});

test.each<[string, unknown]>([
  ["no JSON", undefined],
  ["an event alone", event],
  ["a list of another kind", { ...listOf(event), kind: "List" }],
  ["a list of another version", { ...listOf(event), apiVersion: "audit.k8s.io/v2" }],
])("%s is no list of events", (_what, body) => {
  expect(readDeletionRequests(body, NOW)).toBeUndefined();
});
