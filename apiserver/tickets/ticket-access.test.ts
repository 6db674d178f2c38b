import { expect, test } from "vitest";
import { requireCategory, ticketScopeOf } from "./ticket-access.ts";

const scopeOf = (...rights: "tickets:all_categories"[]) =>
  ticketScopeOf({ orgId: "org", rights: new Set(rights) });

test("a member without the permission for all categories sees the tickets about billing alone", () => {
  expect(scopeOf()).toEqual({ orgId: "org", onlyCategory: "billing" });
  expect(() => requireCategory(scopeOf(), "billing")).not.toThrow();
  expect(() => requireCategory(scopeOf(), "networking")).toThrow(
    "need the permission tickets:all_categories",
  );
  expect(() => requireCategory(scopeOf("tickets:all_categories"), "networking")).not.toThrow();
});
