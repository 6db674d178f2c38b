import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { type Keycloak, signInByDevice, startKeycloak } from "../../../../e2e/contract/identity/keycloak.ts";
import { waitFor } from "../../../../e2e/platform/stack/testing.ts";
import { runGroupJobs } from "../../../members/groups/testing.ts";
import { startTestApp, type TestApp } from "../../../testing/app.ts";
import { makeIssuerConfig } from "../../../testing/issuer-config.ts";
import { createAuthenticator } from "../authenticator.ts";
import type { IssuerInput } from "../issuer-config.ts";
import type { UserPrincipal } from "../principal.ts";

const PAGE = join(
  import.meta.dirname,
  "..",
  "..",
  "..",
  "..",
  "docs",
  "operators",
  "identity",
  "keycloak.md",
);
const REALM = "main";
const STAFF = "platform-admin";
const DOTTED_CLIENT = "my.client";
/** Its tokens live for seconds. */
const BRIEF_CLIENT = "brief-cli";
const BRIEF_SECONDS = 15;
const GROUP = "/acme/developers";
const ALICE = { username: "alice", password: "alice-of-a-test", email: "alice@example.com" };
const BOB = { username: "bob", password: "bob-of-a-test", email: "bob@example.com" };
const OPS = { username: "ops", password: "ops-of-a-test", email: "ops@example.com" };

let keycloak: Keycloak;
let issuer: string;
let api: TestApp;

beforeAll(async () => {
  keycloak = await startKeycloak();
  issuer = `${keycloak.url}/realms/${REALM}`;
  await keycloak.admin("POST", "", { realm: REALM, enabled: true, accessTokenLifespan: 3600 });
  const role = await createRole(`/${REALM}/roles`);
  await createClient("before");
  const dotted = await createClient(DOTTED_CLIENT);
  const clientRole = await createRole(`/${REALM}/clients/${dotted}/roles`);
  await createUser(ALICE);
  await createUser(BOB);
  const ops = await createUser(OPS);
  await keycloak.admin("POST", `/${REALM}/users/${ops}/role-mappings/realm`, [role]);
  await keycloak.admin("POST", `/${REALM}/users/${ops}/role-mappings/clients/${dotted}`, [clientRole]);
  api = await startTestApp({ issuers: [configOf({ groups: [], groupsGraceSeconds: 1 })] });
});
afterAll(async () => {
  await api?.close();
  await keycloak?.stop();
});

async function createRole(path: string) {
  await keycloak.admin("POST", path, { name: STAFF });
  return keycloak.admin("GET", `${path}/${STAFF}`);
}

function createUser({ username, password, email }: typeof ALICE): Promise<string> {
  const credentials = [{ type: "password", value: password, temporary: false }];
  const name = { firstName: username, lastName: username };
  return keycloak.admin("POST", `/${REALM}/users`, {
    username,
    email,
    ...name,
    emailVerified: true,
    enabled: true,
    credentials,
  });
}

/** A client as step 2 of the page makes it. */
function createClient(clientId: string, attributes: Record<string, string> = {}): Promise<string> {
  return keycloak.admin("POST", `/${REALM}/clients`, {
    clientId,
    publicClient: true,
    standardFlowEnabled: false,
    directAccessGrantsEnabled: false,
    attributes: { "oauth2.device.authorization.grant.enabled": "true", ...attributes },
  });
}

/** Steps 1 and 4 of the page. */
async function createScope(): Promise<string> {
  const scope = await keycloak.admin("POST", `/${REALM}/client-scopes`, {
    name: "marina",
    protocol: "openid-connect",
    attributes: { "include.in.token.scope": "true" },
    protocolMappers: [
      {
        name: "marina",
        protocol: "openid-connect",
        protocolMapper: "oidc-audience-mapper",
        config: { "included.custom.audience": "marina", "access.token.claim": "true" },
      },
      {
        name: "groups",
        protocol: "openid-connect",
        protocolMapper: "oidc-group-membership-mapper",
        config: { "claim.name": "groups", "full.path": "true", "access.token.claim": "true" },
      },
    ],
  });
  await keycloak.admin("PUT", `/${REALM}/default-default-client-scopes/${scope}`);
  return scope;
}

/** The values of the page. */
function configOf(changes: Partial<IssuerInput> = {}) {
  const [, block = ""] = /```yaml\n(oidc:\n.+?)```/s.exec(readFileSync(PAGE, "utf8")) ?? [];
  const [input] = parse(block).oidc.issuers;
  return makeIssuerConfig({ ...input, issuer, ...changes });
}

function authenticator(changes: Partial<IssuerInput> = {}, nowMs: () => number = Date.now) {
  return createAuthenticator({
    issuers: [configOf(changes)],
    bindUser: async (user: UserPrincipal) => user.issuer,
    apiTokens: { isApiToken: () => false, isWellFormed: () => false, verify: async () => undefined },
    log: { warn: () => undefined },
    nowMs,
  });
}

test("the tokens of a default realm lack the audience, and those of the page's scope have it", async () => {
  const before = await signInByDevice(issuer, "before", ALICE);
  await expect(authenticator().authenticate(`Bearer ${before}`)).rejects.toMatchObject({
    message: "The bearer token is not valid: audience not accepted.",
  });
  const scope = await createScope();
  await createClient("marina-cli");
  await createClient(BRIEF_CLIENT, { "access.token.lifespan": String(BRIEF_SECONDS) });
  // One that was there before has the scope assigned, as the page says.
  const [dotted] = await keycloak.admin("GET", `/${REALM}/clients?clientId=${DOTTED_CLIENT}`);
  await keycloak.admin("PUT", `/${REALM}/clients/${dotted.id}/default-client-scopes/${scope}`);
  const { roles, ...tenant } = await authenticator().authenticate(
    `Bearer ${await signInByDevice(issuer, "marina-cli", ALICE)}`,
  );
  expect(tenant).toMatchObject({ email: ALICE.email, emailVerified: true, emailTrusted: true });
  expect(roles).not.toContain(STAFF);
  const [{ id }] = await keycloak.admin("GET", `/${REALM}/users?username=alice&exact=true`);
  expect(tenant.userId).toBe(id);
});

test("the staff signs in by a role of the realm, and by one of a client with a dot in its id", async () => {
  const token = `Bearer ${await signInByDevice(issuer, "marina-cli", OPS)}`;
  expect((await authenticator().authenticate(token)).roles).toContain(STAFF);
  const rolesClaim = ["resource_access", DOTTED_CLIENT, "roles"];
  expect((await authenticator({ rolesClaim }).authenticate(token)).roles).toEqual([STAFF]);
  const ofDotted = `Bearer ${await signInByDevice(issuer, DOTTED_CLIENT, OPS)}`;
  expect((await authenticator({ rolesClaim }).authenticate(ofDotted)).roles).toEqual([STAFF]);
  const tenant = `Bearer ${await signInByDevice(issuer, "marina-cli", ALICE)}`;
  expect((await authenticator({ rolesClaim }).authenticate(tenant)).roles).toEqual([]);
});

const signIn = (person: typeof ALICE, client = "marina-cli") => signInByDevice(issuer, client, person);

/** An organization of the staff's person, which signs in at the realm as everybody does. */
async function createOrganization(): Promise<{ owner: string; id: string; path: string }> {
  const owner = await signIn(OPS);
  const { status, body } = await api.request("POST", "/api/v1/organizations", {
    token: owner,
    body: { name: "Acme" },
  });
  expect(status).toBe(201);
  return { owner, id: body.id, path: `/api/v1/organizations/${body.id}` };
}

test("a person of the realm accepts an invitation to the address that the realm has verified", async () => {
  const { owner, id, path } = await createOrganization();
  const invited = await api.request("POST", `${path}/members`, {
    token: owner,
    body: { email: ALICE.email, role: "admin" },
  });
  expect(invited.status).toBe(201);
  const alice = await signIn(ALICE);
  expect((await api.request("GET", path, { token: alice })).status).toBe(404);
  const me = await api.request("GET", "/api/v1/me", { token: alice });
  expect(me.body.invitations).toMatchObject([{ org_id: id, role: "admin" }]);
  const accept = `/api/v1/me/invitations/${me.body.invitations[0].id}/accept`;
  expect(await api.request("POST", accept, { token: alice })).toMatchObject({
    status: 200,
    body: { role: "admin", source: "direct" },
  });
  expect((await api.request("GET", path, { token: alice })).status).toBe(200);
});

test("a person is a member by a group of the realm, until the last token that carried the group ends", async () => {
  const { owner, id, path } = await createOrganization();
  const mapping = { issuer, group: GROUP, org_id: id, role: "member" };
  const mapped = await api.request("POST", "/api/v1/admin/group-mappings", { token: owner, body: mapping });
  expect(mapped.status).toBe(201);
  const acme = await keycloak.admin("POST", `/${REALM}/groups`, { name: "acme" });
  const developers = await keycloak.admin("POST", `/${REALM}/groups/${acme}/children`, {
    name: "developers",
  });
  const [{ id: bob }] = await keycloak.admin("GET", `/${REALM}/users?username=bob&exact=true`);
  await keycloak.admin("PUT", `/${REALM}/users/${bob}/groups/${developers}`);

  const carrying = await signIn(BOB, BRIEF_CLIENT);
  expect(await api.request("GET", path, { token: carrying })).toMatchObject({ status: 200 });
  const list = await api.request("GET", `${path}/members`, { token: owner });
  expect(list.body.items).toContainEqual(
    expect.objectContaining({ user_id: bob, email: BOB.email, role: "member", source: "group" }),
  );

  await keycloak.admin("DELETE", `/${REALM}/users/${bob}/groups/${developers}`);
  const without = await signIn(BOB);
  await waitFor("the membership to end", async () => {
    const { status } = await api.request("GET", path, { token: without });
    return status === 404;
  });
  await runGroupJobs(api);
  const later = await api.request("GET", `${path}/members`, { token: owner });
  expect(later.body.items).not.toContainEqual(expect.objectContaining({ user_id: bob }));
  const log = await api.request("GET", `${path}/audit-log?action=member.remove`, { token: owner });
  expect(log.body.items).toMatchObject([{ actor: { kind: "system", name: "group-memberships" } }]);
});

test("a new key of the realm is accepted without a restart, and one that it withdrew no longer", async () => {
  let passedMs = 0;
  const instance = authenticator({}, () => Date.now() + passedMs);
  const first = `Bearer ${await signIn(ALICE)}`;
  await instance.authenticate(first);
  const { id: parentId } = await keycloak.admin("GET", `/${REALM}`);
  const type = "org.keycloak.keys.KeyProvider";
  const former = await keycloak.admin("GET", `/${REALM}/components?parent=${parentId}&type=${type}`);
  await keycloak.admin("POST", `/${REALM}/components`, {
    name: "newer",
    parentId,
    providerId: "rsa-generated",
    providerType: type,
    config: { priority: ["200"], enabled: ["true"], active: ["true"], algorithm: ["RS256"] },
  });
  const second = `Bearer ${await signIn(ALICE)}`;
  const kidOf = (token: string) =>
    JSON.parse(Buffer.from(token.split(/[ .]/)[1] ?? "", "base64url").toString()).kid;
  expect(kidOf(second)).not.toBe(kidOf(first));
  passedMs = 31_000;
  await expect(instance.authenticate(second)).resolves.toMatchObject({ email: ALICE.email });
  await expect(instance.authenticate(first)).resolves.toMatchObject({ email: ALICE.email });
  for (const { id, providerId } of former)
    if (providerId === "rsa-generated") await keycloak.admin("DELETE", `/${REALM}/components/${id}`);
  passedMs = 11 * 60_000;
  await expect(instance.authenticate(second)).resolves.toMatchObject({ email: ALICE.email });
  await expect(instance.authenticate(first)).rejects.toMatchObject({
    message: "The bearer token is not valid: key not one of the issuer's.",
  });
});
