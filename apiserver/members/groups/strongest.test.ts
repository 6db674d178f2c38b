import { expect, test } from "vitest";
import type { GroupRole } from "../../http/authentication/issuer-config.ts";
import { strongestOf } from "./strongest.ts";

const at = (day: number) => new Date(Date.UTC(2026, 0, day));

test.each<[string, [GroupRole, number][], [GroupRole, number]]>([
  ["one group", [["billing", 5]], ["billing", 5]],
  [
    "the stronger of two, although it ends earlier",
    [
      ["member", 9],
      ["admin", 5],
    ],
    ["admin", 5],
  ],
  [
    "two of the same role: the later end",
    [
      ["member", 5],
      ["member", 9],
    ],
    ["member", 9],
  ],
  [
    "a weaker one prolongs nothing",
    [
      ["viewer", 9],
      ["member", 5],
      ["billing", 9],
    ],
    ["member", 5],
  ],
])("%s", (_case, grants, [role, day]) => {
  const found = strongestOf(grants.map(([one, end]) => ({ role: one, expiresAt: at(end) })));
  expect(found).toEqual({ role, expiresAt: at(day) });
});

test("no group gives no role", () => {
  expect(strongestOf([])).toBeUndefined();
});
