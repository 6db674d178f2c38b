import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestIssuer, type TokenChanges } from "../../testing/issuer.ts";
import { makeIssuerConfig } from "../../testing/issuer-config.ts";
import { createAuthenticator } from "./authenticator.ts";
import { explainToken } from "./explain-token.ts";
import type { IssuerInput } from "./issuer-config.ts";
import type { UserPrincipal } from "./principal.ts";
import { TokenRefusal } from "./token-refusal.ts";

const NOW_MS = Date.now();
const NOW = Math.floor(NOW_MS / 1000);
const SECRET_AUDIENCE = "only-the-installer-knows";

const issuer = setUp(startTestIssuer);

/** Presents a token to an issuer with these settings: the 401 that it gets, and what a check says is refused of it. */
async function refuse(changes: TokenChanges, settings: Partial<IssuerInput> = {}) {
  const config = makeIssuerConfig({
    issuer: issuer.config.issuer,
    jwksUrl: issuer.config.issuer,
    audience: SECRET_AUDIENCE,
    ...settings,
  });
  const person = await issuer.createPerson();
  const claims = { aud: SECRET_AUDIENCE, exp: NOW + 300, ...changes.claims };
  const token = await issuer.sign(person, { ...changes, claims });
  const authenticator = createAuthenticator({
    issuers: [config],
    bindUser: async (user: UserPrincipal) => user.issuer,
    apiTokens: { isApiToken: () => false, isWellFormed: () => false, verify: async () => undefined },
    log: { warn: () => undefined },
    nowMs: () => NOW_MS,
  });
  const error = await authenticator.authenticate(`Bearer ${token}`).catch((thrown: unknown) => thrown);
  const [header, payload] = token
    .split(".", 2)
    .map((part) => JSON.parse(Buffer.from(part, "base64url").toString()));
  const findings = explainToken(header, payload, config, NOW_MS);
  return { error, refusals: findings.flatMap(({ refusal }) => refusal ?? []) };
}

describe("the refusal of a token names the step that failed, which a check finds too, and nothing that would be accepted", () => {
  test.each<[string, TokenChanges, Partial<IssuerInput>?]>([
    ["token expired", { claims: { exp: NOW - 31 } }],
    ["token not valid yet", { claims: { nbf: NOW + 31 } }],
    ["token expired", { claims: { exp: NOW - 1 } }, { clockToleranceSeconds: 0 }],
    ["audience not accepted", { claims: { aud: "account" } }],
    ["audience not accepted", { claims: { aud: ["account", "portal"] } }],
    ["claim aud missing", { claims: { aud: undefined } }],
    ["claim exp missing", { claims: { exp: undefined } }],
    ["claim exp malformed", { claims: { exp: "soon" } }],
    ["claim sub missing", { claims: { sub: undefined } }],
    ["claim oid missing", {}, { subjectClaim: "oid" }],
    ["claim oid malformed", { claims: { oid: "" } }, { subjectClaim: "oid" }],
    ["claim oid malformed", { claims: { oid: ["a"] } }, { subjectClaim: "oid" }],
    ["token type not accepted", { header: { typ: "dpop+jwt" } }],
    ["token type not accepted", { header: { typ: undefined } }],
    ["token type not accepted", { header: { typ: "JWT" } }, { types: ["at+jwt"] }],
    ["not an access token", { header: { typ: "JWT" }, claims: { at_hash: "h" } }],
    ["not an access token", { header: { typ: "JWT" }, claims: { typ: "ID" } }],
  ])("%s: %j %j", async (step, changes, settings) => {
    const { error, refusals } = await refuse(changes, settings);
    expect(error).toMatchObject({
      status: 401,
      message: `The bearer token is not valid: ${step}.`,
      headers: {
        "WWW-Authenticate": `Bearer realm="marina", error="invalid_token", error_description="${step}"`,
      },
    });
    expect(refusals[0]).toBe(step);
    expect(JSON.stringify(error)).not.toContain(SECRET_AUDIENCE);
  });
});

test.each<[string, TokenChanges, Partial<IssuerInput>?]>([
  ["with all that is asked for", {}],
  ["for one of several audiences", { claims: { aud: ["x", "b"] } }, { audience: ["a", "b"] }],
  ["without a type", { header: { typ: undefined } }, { types: [""] }],
  ["that is an ID token", { header: { typ: "JWT" }, claims: { nonce: "n" } }, { idTokens: true }],
  ["within a longer tolerance", { claims: { exp: NOW - 100 } }, { clockToleranceSeconds: 120 }],
  ["with another subject", { claims: { oid: "x" } }, { subjectClaim: "oid" }],
])("a token %s is accepted, and a check refuses nothing of it", async (_what, changes, settings) => {
  expect(await refuse(changes, settings)).toEqual({
    error: expect.objectContaining({ kind: "user" }),
    refusals: [],
  });
});

test.each([
  ["signature wrong", async (token: string) => `${token.slice(0, -6)}AAAAAA`],
  [
    "key not one of the issuer's",
    async () => issuer.sign(await issuer.createPerson(), { header: { kid: "x" } }),
  ],
  [
    "issuer not accepted",
    async () => (await issuer.createPerson({ claims: { iss: "https://x.test" } })).token,
  ],
  ["claim iss missing", async () => (await issuer.createPerson({ claims: { iss: undefined } })).token],
  ["claim iss malformed", async () => (await issuer.createPerson({ claims: { iss: ["a"] } })).token],
  ["not a JSON Web Token", async () => "a.b.c"],
  [
    "algorithm not accepted",
    async () => {
      const claims = { iss: issuer.config.issuer, sub: "a", exp: NOW + 300 };
      return new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new Uint8Array(32));
    },
  ],
])("%s is a step of its own", async (step, change) => {
  const authenticator = createAuthenticator({
    issuers: [issuer.config],
    bindUser: async (user: UserPrincipal) => user.issuer,
    apiTokens: { isApiToken: () => false, isWellFormed: () => false, verify: async () => undefined },
    log: { warn: () => undefined },
  });
  const token = await change((await issuer.createPerson()).token);
  await expect(authenticator.authenticate(`Bearer ${token}`)).rejects.toMatchObject({
    status: 401,
    message: `The bearer token is not valid: ${step}.`,
  });
});

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

test.each([
  ["no JSON", "x"],
  ["of a type that is no text", encode({ alg: "ES256", kid: "x", typ: 5 })],
  ["an array", encode([])],
])("a forged token whose header is %s is 401", async (_what, header) => {
  const authenticator = createAuthenticator({
    issuers: [issuer.config],
    bindUser: async (user: UserPrincipal) => user.issuer,
    apiTokens: { isApiToken: () => false, isWellFormed: () => false, verify: async () => undefined },
    log: { warn: () => undefined },
  });
  const token = `${header}.${encode({ iss: issuer.config.issuer })}.y`;
  await expect(authenticator.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ status: 401 });
});

test("the log has the key's id, what is accepted and what was found, and nothing of the person", async () => {
  const { error } = await refuse({ claims: { aud: "account" } });
  const { cause } = error as { cause: TokenRefusal };
  expect(cause).toBeInstanceOf(TokenRefusal);
  expect(cause.facts).toEqual({
    issuer: issuer.config.issuer,
    kid: expect.stringMatching(/^".+"$/),
    alg: '"ES256"',
    refused: [{ claim: "aud", found: '"account"', meaning: `accepted: ${SECRET_AUDIENCE} (audience)` }],
  });
  expect(JSON.stringify(cause.facts)).not.toContain("@example.com");
});

test("the name of a claim that a header cannot hold is replaced in it", async () => {
  const { error } = await refuse({}, { subjectClaim: 'a"b\n\u00e9' });
  const { headers } = error as { headers: Record<string, string> };
  expect(headers["WWW-Authenticate"]).toContain('error_description="claim a?b?? missing"');
});
