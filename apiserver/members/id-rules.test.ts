import { describe, expect, test } from "vitest";
import { type IssuerInput, issuerSchema } from "../http/authentication/issuer-config.ts";
import { decideIdRules, type IdRules, type KnownIssuer } from "./id-rules.ts";

const URL = "https://id.example.com";
const NEW: KnownIssuer = { recorded: undefined, hasUsers: false, hasMadeIds: false };
const RULES: IdRules = { subjectClaim: "sub", idNamespace: URL, uuidSubjects: true };
const USED: KnownIssuer = { recorded: RULES, hasUsers: true, hasMadeIds: false };
/** As after the upgrade of an installation whose users have their subject as the id. */
const UPGRADED: KnownIssuer = { ...NEW, hasUsers: true };

function decide(input: Partial<IssuerInput>, known: KnownIssuer, isFirst = true): IdRules {
  return decideIdRules(issuerSchema.parse({ issuer: URL, audience: "marina", ...input }), known, isFirst);
}

describe("UUIDs as subjects are ids", () => {
  test.each<[string, Partial<IssuerInput>, KnownIssuer, boolean, boolean]>([
    ["of the first issuer", {}, NEW, true, true],
    ["of no other", {}, NEW, false, false],
    ["of any with users who have them", {}, UPGRADED, false, true],
    ["as recorded, when the issuer is not the first any more", {}, USED, false, true],
    [
      "as recorded, when the issuer has become the first",
      {},
      { ...NEW, recorded: { ...RULES, uuidSubjects: false } },
      true,
      false,
    ],
    [
      "as recorded, when the issuer has users since then",
      {},
      { ...USED, recorded: { ...RULES, uuidSubjects: false } },
      false,
      false,
    ],
    ["of any that says so", { uuidSubjects: true }, NEW, false, true],
    ["not of the first when it says so", { uuidSubjects: false }, NEW, true, false],
  ])("%s", (_when, input, known, isFirst, uuidSubjects) => {
    expect(decide(input, known, isFirst)).toEqual({ ...RULES, uuidSubjects });
  });
});

describe("a change that makes new people of users", () => {
  const changes: [string, Partial<IssuerInput>, KnownIssuer][] = [
    ["subjectClaim", { subjectClaim: "oid" }, USED],
    ["idNamespace", { idNamespace: "https://x.example.com" }, USED],
    ["uuidSubjects", { uuidSubjects: false }, USED],
    ["subjectClaim", { subjectClaim: "oid" }, UPGRADED],
    ["uuidSubjects", { uuidSubjects: false }, UPGRADED],
    ["version 5", {}, { ...UPGRADED, hasMadeIds: true }],
  ];

  test.each(changes)("of %s is refused", (what, input, known) => {
    expect(() => decide(input, known)).toThrow(
      new RegExp(`^The issuer ${URL} has users.+${what}.+acceptNewIds`),
    );
  });

  test.each(changes)("of %s is accepted when it is meant", (_what, input, known) => {
    const { acceptNewIds: _, ...wanted } = { ...RULES, ...input };
    expect(decide({ ...input, acceptNewIds: true }, known)).toEqual(wanted);
  });

  test("is none without users", () => {
    expect(decide({ subjectClaim: "oid" }, { ...USED, hasUsers: false })).toMatchObject({
      subjectClaim: "oid",
    });
  });
});

test("an upgrade changes nothing for users whose ids are their subjects, whatever namespace is set", () => {
  expect(decide({ idNamespace: "https://x.example.com" }, UPGRADED)).toEqual({
    ...RULES,
    idNamespace: "https://x.example.com",
  });
});
