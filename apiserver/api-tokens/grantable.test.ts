import { expect, test } from "vitest";
import { requireGrantable } from "./routes.ts";

test.each([
  ["owner", "owner", ["clusters:write"]],
  ["admin", "member", ["clusters:write", "nodepools:read"]],
  ["viewer", "viewer", ["clusters:read"]],
] as const)("%s can create a token with the role %s and the scopes %j", (ownRole, role, scopes) => {
  expect(() => requireGrantable(ownRole, role, scopes)).not.toThrow();
});

test.each([
  ["member", "admin", ["clusters:read"], "The role member cannot create a token with the role admin."],
  ["viewer", "billing", ["billing:read"], "The role viewer cannot create a token with the role billing."],
  [
    "owner",
    "viewer",
    ["clusters:read", "clusters:write"],
    "The scope clusters:write grants no permission that the role viewer has.",
  ],
] as const)(
  "%s cannot create a token with the role %s and the scopes %j",
  (ownRole, role, scopes, message) => {
    expect(() => requireGrantable(ownRole, role, scopes)).toThrow(message);
  },
);
