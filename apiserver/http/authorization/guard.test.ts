import { expect, test } from "vitest";
import { makeMembership, makePrincipal } from "../../testing/membership.ts";
import type { ApiError } from "../errors.ts";
import { type Access, authorize } from "./guard.ts";
import type { Role } from "./permissions.ts";

const orgId = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

async function statusFor(access: Access, { role, roles = [] }: { role?: Role; roles?: string[] }) {
  const principal = makePrincipal(orgId, { roles });
  const findMembership = async () => (role === undefined ? undefined : makeMembership(orgId, role));
  try {
    await authorize({ findMembership }, access, principal, orgId);
    return 200;
  } catch (error) {
    return (error as ApiError).status;
  }
}

test.each<[string, Access, { role?: Role; roles?: string[] }, number]>([
  ["a caller that is no member", "clusters:delete", {}, 404],
  ["a member without the permission", "clusters:delete", { role: "viewer" }, 403],
  ["a member with the permission", "clusters:delete", { role: "admin" }, 200],
  [
    "one of several permissions",
    ["organization:update", "organization:update_billing"],
    { role: "billing" },
    200,
  ],
  [
    "none of several permissions",
    ["organization:update", "organization:update_billing"],
    { role: "viewer" },
    403,
  ],
  ["a platform path without the role", "platform-admin", { role: "owner" }, 403],
  ["a platform path with the role", "platform-admin", { roles: ["platform-admin"] }, 200],
  ["the platform role on a path of an organization", "clusters:read", { roles: ["platform-admin"] }, 404],
  ["a person on a path for people", "user", {}, 200],
  ["anybody on a path for all callers", "signed-in", {}, 200],
])("%s", async (_case, access, caller, status) => {
  expect(await statusFor(access, caller)).toBe(status);
});
