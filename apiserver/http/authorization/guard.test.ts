import { describe, expect, test } from "vitest";
import { makeMembership } from "../../testing/membership.ts";
import type { Principal, Role } from "../authentication/principal.ts";
import type { AccessControl } from "../env.ts";
import { ApiError } from "../errors.ts";
import { type Access, admit } from "./guard.ts";

const orgId = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";

function knows(role: Role | undefined, roles: string[] = []): AccessControl {
  const principal: Principal = {
    kind: "user",
    userId: orgId,
    issuer: "https://issuer.example",
    emailVerified: false,
    emailTrusted: false,
    roles,
    expiresAtMs: 0,
  };
  return {
    async authenticate(authorization) {
      if (authorization === undefined) throw new ApiError("unauthorized", "");
      return principal;
    },
    redeemTicket: () => Promise.reject(new Error("nobody has a ticket")),
    isKnown: () => false,
    async findMembership() {
      return role === undefined ? undefined : makeMembership(orgId, role);
    },
  };
}

async function statusFor(
  control: AccessControl,
  access: Access,
  authorization: string | undefined,
  org = orgId,
) {
  try {
    await admit(control, access, {
      authorization,
      orgId: org,
      requestId: "r",
      sourceAddress: undefined,
    });
    return 200;
  } catch (error) {
    return (error as ApiError).status;
  }
}

describe("the door", () => {
  test.each<[string, AccessControl, Access, string | undefined, string, number]>([
    ["anyone needs nothing", knows(undefined), "anyone", undefined, orgId, 200],
    ["no credential comes first", knows("owner"), "clusters:read", undefined, "not-a-uuid", 401],
    [
      "a malformed organization comes before membership",
      knows(undefined),
      "clusters:read",
      "x",
      "not-a-uuid",
      400,
    ],
    ["a stranger sees nothing", knows(undefined), "clusters:delete", "x", orgId, 404],
    ["a member without the permission", knows("viewer"), "clusters:delete", "x", orgId, 403],
    ["a member with the permission", knows("admin"), "clusters:delete", "x", orgId, 200],
    [
      "any of several permissions opens",
      knows("billing"),
      ["organization:update", "organization:update_billing"],
      "x",
      orgId,
      200,
    ],
    [
      "none of several permissions",
      knows("viewer"),
      ["organization:update", "organization:update_billing"],
      "x",
      orgId,
      403,
    ],
    ["a platform path without the role", knows("owner"), "platform-admin", "x", orgId, 403],
    [
      "a platform path with the role",
      knows(undefined, ["platform-admin"]),
      "platform-admin",
      "x",
      orgId,
      200,
    ],
    [
      "the platform role opens no tenant path",
      knows(undefined, ["platform-admin"]),
      "clusters:read",
      "x",
      orgId,
      404,
    ],
  ])("%s", async (_case, control, access, authorization, org, status) => {
    expect(await statusFor(control, access, authorization, org)).toBe(status);
  });
});
