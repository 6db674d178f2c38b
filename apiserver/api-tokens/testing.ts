import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import { type Role, SCOPES, type Scope } from "../http/authorization/permissions.ts";
import type { TestApp } from "../testing/app.ts";
import type { Person, TestIssuer } from "../testing/issuer.ts";
import { makePrincipal } from "../testing/membership.ts";
import { createApiToken } from "./changes.ts";

/** Creates a token in a user's name without the rules of the REST API. */
export async function mintFor(
  deps: Deps,
  { userId }: Pick<Person, "userId">,
  orgId: string,
  token: { role: Role; scopes: Scope[] },
): Promise<{ id: string; text: string }> {
  const author = { principal: makePrincipal(userId), requestId: "test", sourceAddress: undefined };
  const values = {
    id: createId(),
    name: "test",
    createdAt: deps.now(),
    lifetimeDays: 1,
    maxTokens: 1000,
    ...token,
  };
  const { row, text } = await deps.db.transaction((tx) => createApiToken(tx, author, orgId, values));
  return { id: row.id, text };
}

/** Invalid credentials that look like those of an organization's owner, by what is wrong with them. */
export async function makeInvalidCredentials(
  api: TestApp,
  issuer: TestIssuer,
  { orgId, owner, outsider }: { orgId: string; owner: Person; outsider: Person },
): Promise<Record<string, string | null>> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const all: { role: Role; scopes: Scope[] } = { role: "owner", scopes: [...SCOPES] };
  const path = `/api/v1/organizations/${orgId}/api-tokens`;
  const revoked = await mintFor(api.deps, owner, orgId, all);
  await api.request("DELETE", `${path}/${revoked.id}`, { token: owner.token });
  const rotated = await mintFor(api.deps, owner, orgId, all);
  await api.request("POST", `${path}/${rotated.id}/rotate`, { token: owner.token });
  const ended = await mintFor(api.deps, owner, orgId, all);
  await api.deps.sql`update api_tokens set expires_at = now() where id = ${ended.id}`;
  const orphan = await mintFor(api.deps, outsider, orgId, all);
  return {
    none: null,
    expired: await issuer.sign(owner, { claims: { exp: nowSeconds - 60 } }),
    "wrong audience": await issuer.sign(owner, { claims: { aud: "another" } }),
    "wrong issuer": await issuer.sign(owner, { claims: { iss: "https://issuer.example" } }),
    "not yet valid": await issuer.sign(owner, { claims: { nbf: nowSeconds + 600 } }),
    "subject is no text": await issuer.sign(owner, { claims: { sub: 7 } }),
    "wrong type": await issuer.sign(owner, { header: { typ: "logout+jwt" } }),
    "alg none": issuer.signNot(owner),
    tampered: tamper(owner.token, outsider.userId),
    "token revoked": revoked.text,
    "token rotated": rotated.text,
    "token expired": ended.text,
    "token with a typo": `${revoked.text.slice(0, 60)}x${revoked.text.slice(61)}`,
    "token whose creator is no member": orphan.text,
  };
}

/** The token with another subject under the old signature. */
export function tamper(token: string, sub: string): string {
  const [header = "", payload = "", signature = ""] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  const forged = Buffer.from(JSON.stringify({ ...claims, sub })).toString("base64url");
  return [header, forged, signature].join(".");
}
