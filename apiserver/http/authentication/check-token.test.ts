import { expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestIssuer } from "../../testing/issuer.ts";
import { makeIssuerConfig } from "../../testing/issuer-config.ts";
import { checkToken } from "./check-token.ts";

const issuer = setUp(() => startTestIssuer({ idNamespace: "test" }));

const ORGANIZATION = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";
const check = (token: string, owner?: string, issuers = [issuer.config]) =>
  checkToken(token, {
    issuers,
    findOwner: async () => owner,
    findMappings: async (_issuer, groups) =>
      groups
        .filter((group) => group !== "others")
        .map((group) => ({ group, organization: ORGANIZATION, role: "member" })),
  });

test("a token that is accepted is reported claim by claim, with the id of its key and without a part of the token", async () => {
  const claims = { realm_access: { roles: ["platform-admin"] }, groups: ["devs", "others"] };
  const { userId, email, token } = await issuer.createPerson({ claims });
  const { isAccepted, lines } = await check(`Bearer ${token}\n`);
  expect(isAccepted).toBe(true);
  expect(lines).toEqual([
    `iss: "${issuer.config.issuer}" accepted`,
    expect.stringMatching(/^kid: "[0-9a-f-]{36}" the key, with alg "ES256"$/),
    'aud: "marina" accepted',
    expect.stringMatching(/^exp: \d+ ends in \d+ s$/),
    'typ of the header: "at+jwt" accepted',
    `sub: "${userId}" the user ${userId}`,
    `email: "${email}" the e-mail address`,
    "email_verified: true verified; finds invitations",
    'realm_access > roles: ["platform-admin"] staff (platform-admin)',
    `groups: ["devs","others"] "devs": member of the organization ${ORGANIZATION}`,
    "ACCEPTED",
  ]);
  for (const part of token.split(".")) expect(lines.join("\n")).not.toContain(part);
});

test("everything that is refused is reported, with what would be accepted and the setting that says so", async () => {
  const claims = { aud: "account", exp: 1, sub: undefined, email: undefined, email_verified: undefined };
  const { token } = await issuer.createPerson({ claims, header: { typ: "x" } });
  const { isAccepted, lines } = await check(token);
  expect(isAccepted).toBe(false);
  expect(lines.slice(2)).toEqual([
    'aud: "account" REFUSED, audience not accepted; accepted: marina (audience)',
    expect.stringContaining("exp: 1 REFUSED, token expired; ended"),
    'typ of the header: "x" REFUSED, token type not accepted; accepted: JWT, at+jwt (types)',
    "sub: missing REFUSED, claim sub missing; must be the person's subject, a string (subjectClaim)",
    expect.stringContaining("email: missing no e-mail address in ASCII"),
    expect.stringContaining("email_verified: missing not verified"),
    "realm_access > roles: [] no staff: lacks platform-admin (rolesClaim, staffRole)",
    "groups: [] none is mapped to an organization (groupsClaim, groups)",
    "REFUSED: claim sub missing",
  ]);
});

test("a group that gives nothing for want of an e-mail address is reported", async () => {
  const { token } = await issuer.createPerson({ claims: { groups: "devs", email: undefined } });
  expect((await check(token)).lines.at(-2)).toBe(
    'groups: ["devs"] no membership without an e-mail address (emailClaim)',
  );
});

test.each<[string, () => Promise<string>, string]>([
  [
    "another issuer",
    async () => (await issuer.createPerson({ claims: { iss: "https://x.test" } })).token,
    'REFUSED: issuer not accepted; iss is "https://x.test", accepted: http://127.0.0.1',
  ],
  [
    "a key that the issuer does not have",
    async () => issuer.sign(await issuer.createPerson(), { header: { kid: "x" } }),
    "REFUSED: key not one of the issuer's",
  ],
  ["no token", async () => "hello", "REFUSED: not a JSON Web Token"],
])("%s is reported in the last line", async (_what, makeToken, line) => {
  const { isAccepted, lines } = await check(await makeToken());
  expect(isAccepted).toBe(false);
  expect(lines.at(-1)).toContain(line);
});

test("a user of another issuer is reported, and an issuer that is away", async () => {
  const { userId, token } = await issuer.createPerson();
  expect((await check(token, "https://first.test")).lines.at(-1)).toBe(
    `REFUSED: subject of another issuer: the user ${userId} belongs to https://first.test`,
  );
  const away = makeIssuerConfig({
    issuer: issuer.config.issuer,
    audience: "marina",
    jwksUrl: "http://127.0.0.1:1/",
  });
  expect((await check(token, undefined, [away])).lines.at(-1)).toMatch(
    /^NOT CHECKED: The keys of the issuer .+ cannot be read \(ECONNREFUSED\)/,
  );
});
