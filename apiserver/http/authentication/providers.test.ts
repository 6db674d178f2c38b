import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestIssuer, type TokenChanges } from "../../testing/issuer.ts";
import { makeIssuerConfig } from "../../testing/issuer-config.ts";
import { createAuthenticator } from "./authenticator.ts";
import type { UserPrincipal } from "./principal.ts";

const PAGES = join(import.meta.dirname, "..", "..", "..", "docs", "operators", "identity");
const EMAIL = "alice@example.com";
const UUID = "0193a1f2-7c3e-4d44-8a0b-5f1f0c9d2e11";
const AUTH0 = "https://marina.example.com/";
const STAFF = "platform-admin";

interface Provider {
  page: string;
  /** The header's type; none where it is undefined. */
  typ: string | undefined;
  /**
   * Claims of an access token (GitLab: an ID token) that the page's client requests. `aud` is that of the page where absent.
   */
  claims: Record<string, unknown>;
  staff: Record<string, unknown>;
  /** Claims of a person in the group that the page maps to an organization. */
  grouped: Record<string, unknown>;
  /** Another token that the provider gives, which is for somebody else. */
  refused: Record<string, unknown>;
  /** When a UUID is the subject. */
  userId?: string;
}

const KEYCLOAK: Omit<Provider, "page"> = {
  typ: "JWT",
  claims: {
    aud: ["marina", "account"],
    typ: "Bearer",
    azp: "marina-cli",
    sub: UUID,
    email: EMAIL,
    email_verified: true,
    scope: "openid email profile",
    realm_access: { roles: ["offline_access", "uma_authorization", "default-roles-main"] },
    resource_access: { account: { roles: ["manage-account", "view-profile"] } },
  },
  staff: { realm_access: { roles: ["offline_access", STAFF] } },
  grouped: { groups: ["/acme/developers", "/others"] },
  refused: { aud: "marina-cli", typ: "ID", at_hash: "x" },
  userId: UUID,
};

/** Tokens as the providers' own documentation and code have them. */
const PROVIDERS: Provider[] = [
  { page: "keycloak.md", ...KEYCLOAK },
  { page: "google.md", ...KEYCLOAK },
  {
    page: "entra-id.md",
    typ: "JWT",
    claims: {
      azp: "88888888-7777-4888-9999-000000000000",
      azpacr: "0",
      oid: UUID,
      sub: "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
      scp: "access",
      tid: "11111111-2222-3333-4444-555555555555",
      ver: "2.0",
      email: EMAIL,
      xms_edov: true,
      email_verified: undefined,
    },
    staff: { roles: [STAFF] },
    grouped: { groups: ["22222222-3333-4444-5555-666666666666"] },
    refused: { aud: "88888888-7777-4888-9999-000000000000" },
    userId: UUID,
  },
  {
    page: "auth0.md",
    typ: "JWT",
    claims: {
      aud: ["https://api.example.com", "https://example.eu.auth0.com/userinfo"],
      azp: "my-native-application",
      sub: "auth0|5f7c8ec7c33c6c004bbafe82",
      scope: "openid email",
      email: undefined,
      email_verified: undefined,
      [`${AUTH0}email`]: EMAIL,
      [`${AUTH0}email_verified`]: true,
      [`${AUTH0}roles`]: [],
    },
    staff: { [`${AUTH0}roles`]: [STAFF] },
    grouped: { [`${AUTH0}roles`]: ["acme-developers"] },
    refused: { aud: "my-native-application", nonce: "n" },
  },
  {
    page: "okta.md",
    typ: undefined,
    claims: {
      ver: 1,
      cid: "0oa1",
      uid: "00uid4BxXw6I6TV4m0g3",
      sub: EMAIL,
      scp: ["openid", "email"],
      email: EMAIL,
      email_verified: true,
      groups: [],
    },
    staff: { groups: [STAFF] },
    grouped: { groups: ["acme-developers"] },
    refused: { aud: "0oa1", at_hash: "x" },
  },
  {
    page: "dex.md",
    typ: undefined,
    claims: {
      aud: ["marina", "marina-cli"],
      azp: "marina-cli",
      sub: "CgRhbGljEgRsZGFw",
      at_hash: "x",
      email: EMAIL,
      email_verified: true,
      groups: ["developers"],
    },
    staff: { groups: ["developers", STAFF] },
    grouped: { groups: ["acme-developers"] },
    refused: { aud: "marina-cli", azp: undefined },
  },
  {
    page: "gitlab.md",
    typ: "JWT",
    claims: {
      sub: "17",
      sub_legacy: "x",
      auth_time: 1,
      nonce: "n",
      email: EMAIL,
      email_verified: true,
      groups_direct: ["shop"],
    },
    staff: { groups_direct: ["shop", "platform/staff"] },
    grouped: { groups_direct: ["acme/developers"] },
    refused: { aud: "another-application" },
  },
];

const issuer = setUp(startTestIssuer);

/** The issuer as the page has it, at the address of the test's. */
function readPage(page: string) {
  const text = readFileSync(join(PAGES, page), "utf8");
  const blocks = [...text.matchAll(/```yaml\n(oidc:\n.+?)```/gs)].map(([, block = ""]) => parse(block));
  if (blocks.length !== 1) throw new Error(`${page} has not one block of values`);
  const [input] = blocks[0].oidc.issuers;
  const url = issuer.config.issuer;
  return { audience: input.audience, config: makeIssuerConfig({ ...input, issuer: url, jwksUrl: url }) };
}

async function present(provider: Provider, changes: TokenChanges["claims"] = {}): Promise<UserPrincipal> {
  const { user } = await presentWithGroups(provider, changes);
  return user;
}

/** Who a token is accepted for, and the groups that it carries. */
async function presentWithGroups({ page, typ, claims }: Provider, changes: TokenChanges["claims"]) {
  const { audience, config } = readPage(page);
  let accepted: { user: UserPrincipal; groups: readonly string[] } | undefined;
  const authenticator = createAuthenticator({
    issuers: [config],
    bindUser: async (user, { names }) => {
      accepted = { user, groups: names };
      return user.issuer;
    },
    apiTokens: { isApiToken: () => false, isWellFormed: () => false, verify: async () => undefined },
    log: { warn: () => undefined },
  });
  const person = await issuer.createPerson();
  const header = { typ };
  const token = await issuer.sign(person, { header, claims: { aud: audience, ...claims, ...changes } });
  await authenticator.authenticate(`Bearer ${token}`);
  if (accepted === undefined) throw new Error("no user was bound");
  return accepted;
}

test("every page of a provider is tried", () => {
  const pages = readdirSync(PAGES).filter((page) => page !== "README.md");
  expect(PROVIDERS.map(({ page }) => page).sort()).toEqual(pages.sort());
});

describe("with the values of its page alone", () => {
  test.each(PROVIDERS)(
    "$page: a tenant signs in, with an address that is verified and no rights of the staff",
    async (provider) => {
      const principal = await present(provider);
      expect(principal).toMatchObject({ email: EMAIL, emailVerified: true, emailTrusted: true });
      expect(principal.roles).not.toContain(STAFF);
    },
  );

  test.each(PROVIDERS)("$page: the staff signs in", async (provider) => {
    expect((await present(provider, provider.staff)).roles).toContain(STAFF);
  });

  test.each(PROVIDERS)("$page: the token carries the group that the page maps", async (provider) => {
    const [mapped] = readPage(provider.page).config.groups;
    expect(mapped).toMatchObject({ role: "member" });
    expect((await presentWithGroups(provider, provider.grouped)).groups).toContain(mapped?.group);
    expect((await presentWithGroups(provider, {})).groups).not.toContain(mapped?.group);
  });

  test.each(PROVIDERS)("$page: a token for another application is refused", async (provider) => {
    await expect(present(provider, provider.refused)).rejects.toMatchObject({ status: 401 });
  });

  test.each(PROVIDERS)(
    "$page: a person is the same with another address, and each is another",
    async (provider) => {
      const { subjectClaim } = readPage(provider.page).config;
      const { userId } = await present(provider);
      const email = "alice.new@example.com";
      const renamed = subjectClaim === "sub" ? { email } : { email, sub: "another" };
      expect((await present(provider, renamed)).userId).toBe(userId);
      expect((await present(provider, { [subjectClaim]: "another" })).userId).not.toBe(userId);
      expect(userId).toBe(provider.userId ?? userId);
    },
  );
});
