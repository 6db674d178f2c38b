import { createHash } from "node:crypto";
import type { JWTHeaderParameters, JWTPayload } from "jose";
import { DEFAULT_STAFF_ROLE, type IssuerConfig } from "./issuer-config.ts";
import type { CarriedGroups, UserPrincipal } from "./principal.ts";
import { badClaim, missingClaim, TokenRefusal } from "./token-refusal.ts";

/** ASCII alone: letters of other alphabets that look alike, or fold into ASCII, would make one address of two. */
const EMAIL = /^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+$/;
/** Entra ID has written its claim of verified domains in each of these forms. */
const YES: readonly unknown[] = [true, "true", 1, "1"];
/** Claims that OpenID Connect Core 1.0 (section 2, 3.1.3.6, 3.3.2.11) defines for ID tokens alone. */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash"];

/** Far more than a provider puts into a token: Entra ID has 200. */
const MAX_GROUPS = 1000;

/** A token whose signature, issuer, audience and times are right. */
export interface VerifiedToken {
  protectedHeader: Pick<JWTHeaderParameters, "typ">;
  payload: JWTPayload;
}

/** Reads a principal from verified claims as the issuer is configured. Throws TokenRefusal. */
export function toPrincipal(
  { payload }: Pick<VerifiedToken, "payload">,
  config: IssuerConfig,
): UserPrincipal {
  const email = readEmail(payload, config);
  return {
    kind: "user",
    userId: toUserId(readSubject(payload, config), config),
    issuer: config.issuer,
    ...(email.address === undefined ? {} : { email: email.address }),
    emailVerified: email.isVerified,
    emailTrusted: email.isVerified && config.trustEmail,
    roles: config.admin ? toPlatformRoles(readRoles(payload, config), config) : [],
    expiresAtMs: ((payload.exp ?? 0) + config.clockToleranceSeconds) * 1000,
  };
}

/** The groups of verified claims: what they give lives until the token's expiry and the issuer's grace. */
export function toCarriedGroups(
  { payload }: Pick<VerifiedToken, "payload">,
  config: IssuerConfig,
): CarriedGroups {
  return {
    names: readGroups(payload, config),
    untilMs: ((payload.exp ?? 0) + config.groupsGraceSeconds) * 1000,
  };
}

/** The person's subject. Throws TokenRefusal for a missing one, and one whose bytes are not defined. */
export function readSubject(
  payload: JWTPayload,
  { subjectClaim }: Pick<IssuerConfig, "subjectClaim">,
): string {
  const subject = payload[subjectClaim];
  if (subject === undefined) throw new TokenRefusal(missingClaim(subjectClaim));
  if (typeof subject !== "string" || subject === "" || !subject.isWellFormed())
    throw new TokenRefusal(badClaim(subjectClaim));
  return subject;
}

/** The person's e-mail address, if it is one, and whether the issuer says that it is verified. */
export function readEmail(
  payload: JWTPayload,
  { emailClaim, emailVerifiedClaim }: Pick<IssuerConfig, "emailClaim" | "emailVerifiedClaim">,
): { address: string | undefined; isVerified: boolean } {
  const found = payload[emailClaim];
  const address = typeof found === "string" && EMAIL.test(found) ? found : undefined;
  return { address, isVerified: address !== undefined && YES.includes(payload[emailVerifiedClaim]) };
}

/** The roles in a token, whether they count or not: a list, or one string. */
export function readRoles(payload: JWTPayload, { rolesClaim }: Pick<IssuerConfig, "rolesClaim">): string[] {
  return readNames(payload, rolesClaim);
}

/** The groups in a token, mapped or not: a list, or one string; the first thousand. */
export function readGroups(
  payload: JWTPayload,
  { groupsClaim }: Pick<IssuerConfig, "groupsClaim">,
): string[] {
  // Postgres stores no other text.
  return readNames(payload, groupsClaim)
    .filter((group) => group.isWellFormed() && !group.includes("\0"))
    .slice(0, MAX_GROUPS);
}

function readNames(payload: JWTPayload, keys: readonly string[]): string[] {
  let value: unknown = payload;
  for (const key of keys) {
    if (typeof value !== "object" || value === null) return [];
    value = (value as Record<string, unknown>)[key];
  }
  return [value].flat().filter((one) => typeof one === "string");
}

/** The roles as the API knows them: the staff's has one name, whatever the issuer calls it. */
function toPlatformRoles(roles: readonly string[], { staffRole }: Pick<IssuerConfig, "staffRole">): string[] {
  const others = roles.filter((role) => role !== staffRole && role !== DEFAULT_STAFF_ROLE);
  return roles.includes(staffRole) ? [DEFAULT_STAFF_ROLE, ...others] : others;
}

/** Throws TokenRefusal for a token of another type, and for an ID token unless the issuer's are accepted. */
export function requireAccessToken(token: VerifiedToken, config: IssuerConfig): void {
  if (!hasAcceptedType(token.protectedHeader.typ, config.types))
    throw new TokenRefusal("token type not accepted");
  if (!config.idTokens && !isAccessToken(token)) throw new TokenRefusal("not an access token");
}

/** The media type of a token, in short or full form (RFC 7515 section 4.1.9); the empty one is a token without. */
export function hasAcceptedType(typ: string | undefined, accepted: readonly string[]): boolean {
  return accepted.some((name) => (name === "" ? typ === undefined : isType(typ, name)));
}

/** The `typ` of a header that is not verified yet may be anything. */
function isType(typ: unknown, name: string): boolean {
  return typeof typ === "string" && typ.toLowerCase().replace(/^application\//, "") === name.toLowerCase();
}

/**
 * Distinguishes an access token from an ID token, which an application gets about a person and may pass on. RFC 9068
 * gives access tokens their own type; providers without it put `Bearer` in the claim `typ`, as Keycloak does, or their
 * other claims decide: an ID token is only for the application that requested it (`azp`).
 */
export function isAccessToken({ protectedHeader, payload }: VerifiedToken): boolean {
  if (isType(protectedHeader.typ, "at+jwt")) return true;
  const { typ, azp, aud } = payload;
  if (typ !== undefined) return typ === "Bearer";
  const isForRequester = azp !== undefined && [aud].flat().every((audience) => audience === azp);
  return !isForRequester && !ID_TOKEN_CLAIMS.some((claim) => claim in payload);
}

/** RFC 9562, section 6.6. */
const URL_NAMESPACE = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The user's id: the subject itself when it is a UUID and those of the issuer are ids, else a UUID of version 5 of the
 * issuer's namespace and the subject. A subject of version 5 is never an id: it could be one that was made for another
 * issuer's user.
 */
export function toUserId(
  subject: string,
  { uuidSubjects, idNamespace }: Pick<IssuerConfig, "uuidSubjects" | "idNamespace">,
): string {
  const version = UUID.exec(subject)?.[1];
  if (uuidSubjects && version !== undefined && version !== "5") return subject.toLowerCase();
  return makeUuidV5(makeUuidV5(URL_NAMESPACE, idNamespace), subject);
}

/** RFC 9562, section 5.5: SHA-1 of the namespace and the name's bytes in UTF-8. */
function makeUuidV5(namespace: string, text: string): string {
  const digest = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(text, "utf8")
    .digest()
    .subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
