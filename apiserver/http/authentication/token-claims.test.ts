import { describe, expect, test } from "vitest";
import { makeIssuerConfig } from "../../testing/issuer-config.ts";
import type { IssuerInput } from "./issuer-config.ts";
import { toCarriedGroups, toUserId } from "./token-claims.ts";

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

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const A = { uuidSubjects: true, idNamespace: "https://a.example.com" };
const B = { uuidSubjects: false, idNamespace: "https://b.example.com" };

/** Made with `uuid5(uuid5(NAMESPACE_URL, namespace), subject)` of Python's module uuid. */
test.each([
  ["auth0|5f7c8ec7c33c6c004bbafe82", A, "a9a98af9-fc2a-5153-a30a-3ed7f23d16ff"],
  ["110169484474386276334", A, "8b96ba22-5e69-55a1-a2b4-60364878ac64"],
  ["Zürich", B, "fdbf1e12-319f-5cb8-bd80-269bd3f48295"],
])("the subject %s has always the same id", (subject, issuer, id) => {
  expect(toUserId(subject, issuer)).toBe(id);
});

describe("a subject that is a UUID", () => {
  test("is the id, in lower case, where those of the issuer are", () => {
    expect(toUserId(ID.toUpperCase(), A)).toBe(ID);
  });

  test.each([
    ["of an issuer whose UUIDs are no ids", ID, B],
    ["of version 5, wherever it comes from", toUserId("alice", B), A],
    ["in another form", `{${ID}}`, A],
  ])("is none %s", (_what, subject, issuer) => {
    expect(toUserId(subject, issuer)).toMatch(/^\w{8}-\w{4}-5\w{3}-[89ab]\w{3}-\w{12}$/);
    expect(toUserId(subject, issuer)).not.toBe(subject);
  });
});

test("the same subject of two issuers, and two subjects that differ in case, are different people", () => {
  const ids = [toUserId("alice", A), toUserId("alice", B), toUserId("Alice", A), toUserId(ID, B)];
  ids.push(toUserId(ID.toUpperCase(), B));
  expect(new Set(ids).size).toBe(ids.length);
});
