import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeIssuerConfig } from "../../testing/issuer-config.ts";
import { type Authenticator, createAuthenticator } from "./authenticator.ts";
import type { IssuerConfig, IssuerInput } from "./issuer-config.ts";
import type { TokenPrincipal, UserPrincipal } from "./principal.ts";

const STAFF = "platform-admin";
const SUBJECT = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
/** The clock stands still: the rows of a table are made long before the last of them is tested. */
const NOW_MS = Date.now();
const NOW = Math.floor(NOW_MS / 1000);

let server: Server;
let url: string;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
let strangers: typeof keys;
/** Which issuer a user id belongs to. */
const owners = new Map<string, string>();

beforeAll(async () => {
  keys = await generateKeyPair("ES256");
  strangers = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: "first", alg: "ES256" };
  server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: [jwk] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => void server.close());

function issuer(changes: Partial<IssuerInput> = {}): IssuerConfig {
  return makeIssuerConfig({
    issuer: url,
    audience: "marina",
    jwksUrl: url,
    admin: true,
    trustEmail: true,
    ...changes,
  });
}

function authenticator(config: IssuerConfig = issuer()): Authenticator {
  return createAuthenticator({
    issuers: [config],
    bindUser: async (user: UserPrincipal) => owners.get(user.userId) ?? user.issuer,
    apiTokens: {
      isApiToken: (text) => text.startsWith("mar_"),
      isWellFormed: () => false,
      verify: async () => undefined,
    },
    log: { warn: () => undefined },
    nowMs: () => NOW_MS,
  });
}

interface TokenChanges {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: typeof keys.privateKey;
}

async function sign({ claims = {}, header = {}, key = keys.privateKey }: TokenChanges = {}): Promise<string> {
  const payload = {
    iss: url,
    aud: "marina",
    sub: SUBJECT,
    exp: NOW + 300,
    email: "alice@example.com",
    email_verified: true,
    realm_access: { roles: ["platform-admin"] },
    ...claims,
  };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: "ES256", kid: "first", typ: "at+jwt", ...header })
    .sign(key);
}

async function statusFor(authorization: string | undefined, config?: IssuerConfig): Promise<number> {
  try {
    await authenticator(config).authenticate(authorization);
    return 200;
  } catch (error) {
    return (error as { status: number }).status;
  }
}

describe("a token is accepted", () => {
  test.each<[string, TokenChanges]>([
    ["as it should be", {}],
    ["with the type JWT", { header: { typ: "JWT" } }],
    ["with its type in full", { header: { typ: "application/at+jwt" } }],
    ["of Keycloak", { header: { typ: "JWT" }, claims: { typ: "Bearer", azp: "marina" } }],
    ["requested by another application", { header: { typ: "JWT" }, claims: { azp: "portal" } }],
    ["with several audiences", { claims: { aud: ["account", "marina"] } }],
    ["within the clock skew after its end", { claims: { exp: NOW - 20 } }],
    ["within the clock skew before its start", { claims: { nbf: NOW + 20 } }],
    ["with an upper-case subject", { claims: { sub: SUBJECT.toUpperCase() } }],
  ])("%s", async (_case, changes) => {
    expect(await statusFor(`Bearer ${await sign(changes)}`)).toBe(200);
  });
});

describe("a token is refused with 401", () => {
  test.each<[string, TokenChanges]>([
    ["that is an ID token of Keycloak", { header: { typ: "JWT" }, claims: { typ: "ID" } }],
    ["that is a refresh token", { header: { typ: "JWT" }, claims: { typ: "Refresh" } }],
    ["that is for its own requester", { header: { typ: "JWT" }, claims: { azp: "marina" } }],
    ["with a nonce, as an ID token", { header: { typ: "JWT" }, claims: { nonce: "n" } }],
    ["with the hash of an access token", { header: { typ: "JWT" }, claims: { at_hash: "h" } }],
    ["for another audience", { claims: { aud: "account" } }],
    ["without an audience", { claims: { aud: undefined } }],
    ["from another issuer", { claims: { iss: "https://elsewhere.example" } }],
    ["after its end", { claims: { exp: NOW - 40 } }],
    ["without an end", { claims: { exp: undefined } }],
    ["before its start", { claims: { nbf: NOW + 40 } }],
    ["without a subject", { claims: { sub: undefined } }],
    ["with a subject that is no text", { claims: { sub: 7 } }],
    ["with an empty subject", { claims: { sub: "" } }],
    ["with a subject of half a character", { claims: { sub: "\ud800" } }],
    ["of another type", { header: { typ: "dpop+jwt" } }],
    ["without a type", { header: { typ: undefined } }],
    ["with a key that the issuer does not have", { header: { kid: "second" } }],
  ])("%s", async (_case, changes) => {
    expect(await statusFor(`Bearer ${await sign(changes)}`)).toBe(401);
  });

  test("signed by another issuer", async () => {
    expect(await statusFor(`Bearer ${await sign({ key: strangers.privateKey })}`)).toBe(401);
  });

  test("with a changed payload", async () => {
    const [header, , signature] = (await sign()).split(".");
    const other = (await sign({ claims: { sub: "0193a1f2-7c3e-7d44-8a0b-000000000000" } })).split(".")[1];
    expect(await statusFor(`Bearer ${header}.${other}.${signature}`)).toBe(401);
  });

  test("without a signature", async () => {
    const token = new UnsecuredJWT({ sub: SUBJECT, exp: NOW + 300, aud: "marina", iss: url }).encode();
    expect(await statusFor(`Bearer ${token}`)).toBe(401);
  });

  test("signed with a public key as a shared secret", async () => {
    const token = await new SignJWT({ sub: SUBJECT, iss: url, aud: "marina", exp: NOW + 300 })
      .setProtectedHeader({ alg: "HS256", kid: "first", typ: "JWT" })
      .sign(new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey))));
    expect(await statusFor(`Bearer ${token}`)).toBe(401);
  });

  test.each([["Bearer"], ["Bearer "], ["Basic YTpi"], ["Bearer a.b"], ["Bearer a b"], [""]])(
    "as %s",
    async (text) => {
      expect(await statusFor(text)).toBe(401);
    },
  );

  test("when its subject belongs to another issuer", async () => {
    const sub = "0193a1f2-7c3e-7d44-8a0b-111111111111";
    owners.set(sub, "https://first.example");
    expect(await statusFor(`Bearer ${await sign({ claims: { sub } })}`)).toBe(401);
  });

  test("and the response says how to authenticate", async () => {
    await expect(authenticator().authenticate(undefined)).rejects.toMatchObject({
      headers: { "WWW-Authenticate": 'Bearer realm="marina"' },
    });
  });
});

describe("what a token claims about its bearer", () => {
  test("roles and trust in the address count as the issuer is configured", async () => {
    const authorization = `Bearer ${await sign()}`;
    expect(await authenticator().authenticate(authorization)).toMatchObject({
      userId: SUBJECT,
      email: "alice@example.com",
      emailVerified: true,
      emailTrusted: true,
      roles: ["platform-admin"],
    });
    const humble = authenticator(issuer({ admin: false, trustEmail: false }));
    expect(await humble.authenticate(authorization)).toMatchObject({
      emailVerified: true,
      emailTrusted: false,
      roles: [],
    });
  });

  test.each([
    ["\u00e4lice@example.com"],
    ["alice@ex\u0430mple.com"],
    ["\u212aate@example.com"],
    ["a@b@c"],
    ["alice"],
  ])("the address %s is none, since it is not ASCII or not one address", async (email) => {
    const principal = await authenticator().authenticate(`Bearer ${await sign({ claims: { email } })}`);
    expect(principal).toMatchObject({ emailVerified: false, emailTrusted: false });
    expect(principal).not.toHaveProperty("email");
  });

  test.each<[string, Partial<IssuerInput>, Record<string, unknown>, string[]]>([
    ["of a list, without what is no text", { rolesClaim: "groups" }, { groups: ["a", 5] }, ["a"]],
    ["of one text", { rolesClaim: "groups" }, { groups: "a b" }, ["a b"]],
    [
      "of a claim with dots and slashes in its name",
      { rolesClaim: "https://marina.example.com/roles" },
      { "https://marina.example.com/roles": ["a"] },
      ["a"],
    ],
    [
      "of a client with a dot in its id",
      { rolesClaim: ["resource_access", "my.client", "roles"] },
      { resource_access: { "my.client": { roles: ["a"] } } },
      ["a"],
    ],
    ["of nothing", { rolesClaim: ["a", "b"] }, { a: "text" }, []],
    ["of no inherited property", { rolesClaim: ["constructor", "name"] }, {}, []],
    [
      "the staff's under its own name",
      { staffRole: "ops", rolesClaim: "r" },
      { r: ["ops", "a"] },
      [STAFF, "a"],
    ],
    ["the staff's under no other", { staffRole: "ops", rolesClaim: "r" }, { r: [STAFF, "a"] }, ["a"]],
    ["the staff's where roles do not count", { admin: false }, {}, []],
  ])("roles are read %s", async (_what, changes, claims, roles) => {
    const authorization = `Bearer ${await sign({ claims })}`;
    const principal = await authenticator(issuer(changes)).authenticate(authorization);
    expect(principal.roles).toEqual(roles);
  });

  test.each([true, "true", 1, "1"])(
    "the address is verified by %j in the configured claim",
    async (value) => {
      const changed = issuer({ emailClaim: "upn", emailVerifiedClaim: "xms_edov" });
      const claims = { upn: "bob@example.com", xms_edov: value };
      const principal = await authenticator(changed).authenticate(`Bearer ${await sign({ claims })}`);
      expect(principal).toMatchObject({ email: "bob@example.com", emailVerified: true, emailTrusted: true });
    },
  );

  test.each([false, "false", 0, null, "yes", [true]])("the address is not verified by %j", async (value) => {
    const principal = await authenticator().authenticate(
      `Bearer ${await sign({ claims: { email_verified: value } })}`,
    );
    expect(principal).toMatchObject({ emailVerified: false, emailTrusted: false });
  });
});

test("an API token is known from its first use until it is refused", async () => {
  let isValid = true;
  const principal = { kind: "token" } as TokenPrincipal;
  const instance = createAuthenticator({
    issuers: [],
    bindUser: async (user: UserPrincipal) => user.issuer,
    apiTokens: {
      isApiToken: () => true,
      isWellFormed: (text) => text === "mar_good",
      verify: async () => (isValid ? principal : undefined),
    },
    log: { warn: () => undefined },
  });
  expect(instance.isWellFormed("Bearer mar_good")).toBe(true);
  expect(instance.isWellFormed("Bearer mar_typo")).toBe(false);
  expect(instance.isKnown("Bearer mar_good")).toBe(false);
  await instance.authenticate("Bearer mar_good");
  expect(instance.isKnown("Bearer mar_good")).toBe(true);
  isValid = false;
  await expect(instance.authenticate("Bearer mar_good")).rejects.toMatchObject({ status: 401 });
  expect(instance.isKnown("Bearer mar_good")).toBe(false);
});

test("an issuer that does not respond is 503, not 401", async () => {
  const config = issuer({ jwksUrl: "http://127.0.0.1:1/" });
  const closed = authenticator(config);
  expect(await statusFor(`Bearer ${await sign()}`, config)).toBe(503);
  expect(closed.isReady()).toBe(false);
});

test("keys are loaded at start, after which it is ready", async () => {
  const ready = authenticator();
  expect(ready.isReady()).toBe(false);
  await ready.loadKeys(new AbortController().signal);
  expect(ready.isReady()).toBe(true);
});
