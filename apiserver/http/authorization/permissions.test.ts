import { describe, expect, test } from "vitest";
import { GROUP_ROLES } from "../authentication/issuer-config.ts";
import {
  hasPermission,
  PERMISSIONS,
  type Permission,
  permissionsOf,
  type Role,
  rightsOf,
} from "./permissions.ts";

describe("roles and permissions", () => {
  test("an owner holds every permission", () => {
    expect(permissionsOf("owner")).toEqual(PERMISSIONS);
  });

  test.each<[Permission, Role[]]>([
    ["organization:read", ["owner", "admin", "member", "billing", "viewer"]],
    ["organization:delete", ["owner"]],
    ["organization:update_billing", ["owner", "admin", "billing"]],
    ["members:invite", ["owner", "admin"]],
    ["members:grant_owner", ["owner"]],
    ["clusters:read", ["owner", "admin", "member", "billing", "viewer"]],
    ["clusters:create", ["owner", "admin", "member"]],
    ["clusters:delete", ["owner", "admin"]],
    ["clusters:access", ["owner", "admin", "member"]],
    ["clusters:rotate_credentials", ["owner", "admin"]],
    ["system_events:read", ["owner", "admin", "member", "viewer"]],
    ["billing:read", ["owner", "admin", "billing"]],
    ["tickets:create", ["owner", "admin", "member", "billing"]],
    ["tickets:all_categories", ["owner", "admin", "member", "viewer"]],
    ["audit:read", ["owner", "admin"]],
  ])("%s is held by %j and no other role", (permission, holders) => {
    const roles: Role[] = ["owner", "admin", "member", "billing", "viewer"];
    expect(roles.filter((role) => hasPermission(role, permission))).toEqual(holders);
  });

  test.each(GROUP_ROLES)("%s by a group may all of the role but make API tokens", (role) => {
    const rights = rightsOf(role, "group");
    expect(rights.has("api_tokens:create")).toBe(false);
    expect([...rights]).toEqual(permissionsOf(role).filter((one) => one !== "api_tokens:create"));
  });

  test("a viewer can only read, and leave", () => {
    expect(permissionsOf("viewer").filter((permission) => !permission.endsWith(":read"))).toEqual([
      "members:leave",
      "tickets:all_categories",
    ]);
  });
});
