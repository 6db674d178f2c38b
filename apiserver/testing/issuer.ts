import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from "jose";
import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import type { IssuerConfig, IssuerInput } from "../http/authentication/issuer-config.ts";
import type { Role } from "../http/authorization/permissions.ts";
import { members, users } from "../members/table.ts";
import type { TestApp, TestResponse } from "./app.ts";
import { makeIssuerConfig } from "./issuer-config.ts";

const LIFETIME_SECONDS = 3600;
const AUDIENCE = "marina";

/** A user of the test issuer. */
export interface Person {
  userId: string;
  email: string;
  token: string;
}

/** Claims and header fields added to a token, or replaced in it. */
export interface TokenChanges {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
}

export interface TestIssuer {
  config: IssuerConfig;
  /** A new person with a verified address. */
  createPerson(changes?: TokenChanges): Promise<Person>;
  /** A new person of the platform's staff. */
  createStaff(): Promise<Person>;
  /** A token for a person, signed with the current key. */
  sign(person: Pick<Person, "userId" | "email">, changes?: TokenChanges): Promise<string>;
  /** Like `sign`, with the algorithm `none` and no signature. */
  signNot(person: Pick<Person, "userId" | "email">): string;
  /** Signs with another key from now on and publishes it; the old one only when it is kept. */
  rotateKey(options?: { keepOld?: boolean; algorithm?: "ES256" | "RS256" }): Promise<void>;
  /** Withdraws every key. */
  publishNothing(): void;
  /** The status of the responses with the published keys; 200 at first. */
  setStatus(status: number): void;
  /** How often the keys were read. */
  countReads(): number;
  close(): void;
}

/**
 * A small issuer of JSON Web Tokens that speaks the protocol: for people and faults that the stack's issuer does not
 * have.
 */
export async function startTestIssuer(changes: Partial<IssuerInput> = {}): Promise<TestIssuer> {
  const published: JWK[] = [];
  let key = await createKey();
  let status = 200;
  let reads = 0;
  published.push(key.jwk);
  const server = createServer((_request, response) => {
    reads += 1;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ keys: published }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const claimsOf = (person: Pick<Person, "userId" | "email">) => ({
    iss: url,
    aud: AUDIENCE,
    sub: person.userId,
    exp: Math.floor(Date.now() / 1000) + LIFETIME_SECONDS,
    email: person.email,
    email_verified: true,
  });
  const sign: TestIssuer["sign"] = (person, { claims = {}, header = {} } = {}) =>
    new SignJWT({ ...claimsOf(person), ...claims })
      .setProtectedHeader({ alg: key.jwk.alg, kid: key.kid, typ: "at+jwt", ...header })
      .sign(key.privateKey);

  const createPerson: TestIssuer["createPerson"] = async (tokenChanges) => {
    const userId = createId();
    const person = { userId, email: `${userId}@example.com` };
    return { ...person, token: await sign(person, tokenChanges) };
  };

  return {
    config: makeIssuerConfig({
      issuer: url,
      audience: AUDIENCE,
      jwksUrl: url,
      admin: true,
      trustEmail: true,
      ...changes,
    }),
    createPerson,
    createStaff: () => createPerson({ claims: { realm_access: { roles: ["platform-admin"] } } }),
    sign,
    signNot: (person) => new UnsecuredJWT(claimsOf(person)).encode(),
    async rotateKey({ keepOld = false, algorithm } = {}) {
      key = await createKey(algorithm);
      if (!keepOld) published.length = 0;
      published.push(key.jwk);
    },
    publishNothing: () => {
      published.length = 0;
    },
    setStatus: (next) => {
      status = next;
    },
    countReads: () => reads,
    close: () => void server.close(),
  };
}

async function createKey(alg = "ES256") {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const kid = createId();
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

/** An organization of one test, owned by a new person. */
export interface TestOrganization {
  id: string;
  slug: string;
  owner: Person;
  /** `/api/v1/organizations/<id>` */
  path: string;
}

/** Creates an organization through REST; `fields` go into the body. */
export async function makeOrganization(
  api: Pick<TestApp, "request">,
  issuer: TestIssuer,
  fields: object = {},
): Promise<TestOrganization> {
  const owner = await issuer.createPerson();
  const response = await api.request("POST", "/api/v1/organizations", {
    token: owner.token,
    body: { name: "Test", ...fields },
  });
  if (response.status !== 201) throw new Error(`no organization: ${JSON.stringify(response.body)}`);
  const { id, slug } = response.body;
  return { id, slug, owner, path: `/api/v1/organizations/${id}` };
}

/** Answers the pending invitation of a person to an organization; 404 without one. */
export async function answerInvitation(
  api: Pick<TestApp, "request">,
  orgId: string,
  { token }: Person,
  answer: "accept" | "decline" = "accept",
): Promise<TestResponse> {
  const me = await api.request("GET", "/api/v1/me", { token });
  const found = me.body.invitations.find((invitation: { org_id: string }) => invitation.org_id === orgId);
  return api.request("POST", `/api/v1/me/invitations/${found?.id ?? createId()}/${answer}`, { token });
}

/** Makes a person a member, as if an invitation had been accepted. Returns the member's id. */
export async function addPerson(
  deps: Pick<Deps, "db">,
  orgId: string,
  person: Person,
  role: Role,
): Promise<string> {
  const { userId, email } = person;
  const id = createId();
  await deps.db
    .insert(users)
    .values({ id: userId, issuer: issuerOf(person), email })
    .onConflictDoNothing();
  await deps.db.insert(members).values({ id, orgId, userId, email, role, acceptedAt: new Date() });
  return id;
}

function issuerOf({ token }: Person): string {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).iss;
}
