import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { type Keycloak, signInByDevice, startKeycloak } from "../../../../e2e/contract/identity/keycloak.ts";
import { makeIssuerConfig } from "../../../testing/issuer-config.ts";
import { createAuthenticator } from "../authenticator.ts";
import type { IssuerInput } from "../issuer-config.ts";
import type { UserPrincipal } from "../principal.ts";

const PAGE = join(import.meta.dirname, "..", "..", "..", "..", "docs", "identity", "keycloak.md");
const REALM = "main";
const STAFF = "platform-admin";
const DOTTED_CLIENT = "my.client";
const ALICE = { username: "alice", password: "alice-of-a-test", email: "alice@example.com" };
const OPS = { username: "ops", password: "ops-of-a-test", email: "ops@example.com" };

let keycloak: Keycloak;
let issuer: string;

beforeAll(async () => {
  keycloak = await startKeycloak();
  issuer = `${keycloak.url}/realms/${REALM}`;
  await keycloak.admin("POST", "", { realm: REALM, enabled: true });
  const role = await createRole(`/${REALM}/roles`);
  await createClient("before");
  const dotted = await createClient(DOTTED_CLIENT);
  const clientRole = await createRole(`/${REALM}/clients/${dotted}/roles`);
  await createUser(ALICE);
  const ops = await createUser(OPS);
  await keycloak.admin("POST", `/${REALM}/users/${ops}/role-mappings/realm`, [role]);
  await keycloak.admin("POST", `/${REALM}/users/${ops}/role-mappings/clients/${dotted}`, [clientRole]);
});
afterAll(() => keycloak?.stop());

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
function createClient(clientId: string): Promise<string> {
  return keycloak.admin("POST", `/${REALM}/clients`, {
    clientId,
    publicClient: true,
    standardFlowEnabled: false,
    directAccessGrantsEnabled: false,
    attributes: { "oauth2.device.authorization.grant.enabled": "true" },
  });
}

/** Step 1 of the page. */
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
    ],
  });
  await keycloak.admin("PUT", `/${REALM}/default-default-client-scopes/${scope}`);
  return scope;
}

/** An authenticator with the values of the page. */
function authenticator(changes: Partial<IssuerInput> = {}, nowMs: () => number = Date.now) {
  const [, block = ""] = /```yaml\n(oidc:\n.+?)```/s.exec(readFileSync(PAGE, "utf8")) ?? [];
  const [input] = parse(block).oidc.issuers;
  return createAuthenticator({
    issuers: [makeIssuerConfig({ ...input, issuer, ...changes })],
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
  await createScope();
  await createClient("marina-cli");
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
  const tenant = `Bearer ${await signInByDevice(issuer, "marina-cli", ALICE)}`;
  expect((await authenticator({ rolesClaim }).authenticate(tenant)).roles).toEqual([]);
});

test("a new key of the realm is accepted without a restart", async () => {
  let passedMs = 0;
  const instance = authenticator({}, () => Date.now() + passedMs);
  const signIn = async () => `Bearer ${await signInByDevice(issuer, "marina-cli", ALICE)}`;
  const first = await signIn();
  await instance.authenticate(first);
  const { id: parentId } = await keycloak.admin("GET", `/${REALM}`);
  await keycloak.admin("POST", `/${REALM}/components`, {
    name: "newer",
    parentId,
    providerId: "rsa-generated",
    providerType: "org.keycloak.keys.KeyProvider",
    config: { priority: ["200"], enabled: ["true"], active: ["true"], algorithm: ["RS256"] },
  });
  const second = await signIn();
  const kidOf = (token: string) =>
    JSON.parse(Buffer.from(token.split(/[ .]/)[1] ?? "", "base64url").toString()).kid;
  expect(kidOf(second)).not.toBe(kidOf(first));
  passedMs = 31_000;
  await expect(instance.authenticate(second)).resolves.toMatchObject({ email: ALICE.email });
});
