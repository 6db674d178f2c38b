import { expect, test } from "vitest";
import { type AuditEvent, describeRight, expandRoles, findUnused, readUses } from "./rights.ts";

const ROLE = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "sailor" },
  rules: [
    { apiGroups: ["a.test"], resources: ["boats", "boats/status"], verbs: ["get", "patch"] },
    { apiGroups: ["a.test"], resources: ["boats"], verbs: ["create"] },
    { apiGroups: [""], resources: ["configmaps"], resourceNames: ["kept"], verbs: ["patch"] },
    { apiGroups: ["b.test"], resources: ["*"], verbs: ["list"] },
  ],
};

function event(verb: string, objectRef: AuditEvent["objectRef"], decision = "allow"): AuditEvent {
  const reason = 'RBAC: allowed by ClusterRoleBinding "sailor" of ClusterRole "sailor" to User "x"';
  const annotations = { "authorization.k8s.io/decision": decision, "authorization.k8s.io/reason": reason };
  return { verb, ...(objectRef === undefined ? {} : { objectRef }), annotations };
}

function unusedAfter(...events: AuditEvent[]): string[] {
  return findUnused(expandRoles([ROLE]), events.flatMap(readUses)).map(describeRight);
}

const ALL = [
  "ClusterRole sailor: get boats.a.test",
  "ClusterRole sailor: patch boats.a.test",
  "ClusterRole sailor: get boats/status.a.test",
  "ClusterRole sailor: patch boats/status.a.test",
  "ClusterRole sailor: create boats.a.test",
  "ClusterRole sailor: patch configmaps",
  "ClusterRole sailor: list *.b.test",
];

test.each([
  ["nothing", [], ALL],
  ["a read", [event("get", { resource: "boats", apiGroup: "a.test" })], ALL.slice(1)],
  [
    "a write of a subresource",
    [event("patch", { resource: "boats", subresource: "status", apiGroup: "a.test" })],
    ALL.toSpliced(3, 1),
  ],
  [
    "a patch that made its object",
    [
      {
        ...event("patch", { resource: "boats", apiGroup: "a.test" }),
        responseStatus: { code: 201 },
      },
    ],
    ALL.toSpliced(4, 1).toSpliced(1, 1),
  ],
  ["the named object", [event("patch", { resource: "configmaps", name: "kept" })], ALL.toSpliced(5, 1)],
  ["another object", [event("patch", { resource: "configmaps", name: "other" })], ALL],
  ["any resource of a group", [event("list", { resource: "cars", apiGroup: "b.test" })], ALL.slice(0, 6)],
  ["a refused request", [event("get", { resource: "boats", apiGroup: "a.test" }, "forbid")], ALL],
  ["a request that no role allowed", [{ verb: "get", objectRef: { resource: "boats" } }], ALL],
])("after %s the other rights are unused", (_what, events, expected) => {
  expect(unusedAfter(...events)).toEqual(expected);
});
