import { expect, test } from "vitest";
import { makeIssuerConfig } from "../../testing/issuer-config.ts";
import type { IssuerInput } from "./issuer-config.ts";
import { toCarriedGroups } from "./token-claims.ts";

const configure = (changes: Partial<IssuerInput> = {}) =>
  makeIssuerConfig({ issuer: "https://id.example.com", audience: "marina", ...changes });

test.each<[string, Partial<IssuerInput>, object, string[]]>([
  ["in a list", {}, { groups: ["/devs", "ops"] }, ["/devs", "ops"]],
  ["in one string", {}, { groups: "devs" }, ["devs"]],
  ["in another claim", { groupsClaim: "groups_direct" }, { groups: ["a"], groups_direct: ["b"] }, ["b"]],
  [
    "in a claim whose name is a URL",
    { groupsClaim: "https://x.test/groups" },
    { "https://x.test/groups": ["a"] },
    ["a"],
  ],
  ["one key inside the other", { groupsClaim: ["a.b", "c"] }, { "a.b": { c: ["d"] } }, ["d"]],
  ["nowhere", {}, {}, []],
  ["among other values", {}, { groups: ["a", 1, null, { name: "b" }] }, ["a"]],
  ["but for text that no database stores", {}, { groups: ["a\0", "\ud800", "b"] }, ["b"]],
  ["up to a thousand", {}, { groups: Array(1001).fill("a") }, Array(1000).fill("a")],
])("groups are read %s", (_where, changes, claims, names) => {
  expect(toCarriedGroups({ payload: { ...claims, exp: 1 } }, configure(changes)).names).toEqual(names);
});

test.each([
  [undefined, 87_400],
  [0, 1000],
  [60, 1060],
])("what groups give lives until the token's expiry and a grace of %s seconds", (groupsGraceSeconds, end) => {
  const config = configure(groupsGraceSeconds === undefined ? {} : { groupsGraceSeconds });
  expect(toCarriedGroups({ payload: { exp: 1000 } }, config).untilMs).toBe(end * 1000);
});
