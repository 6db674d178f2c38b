import type { JWTHeaderParameters, JWTPayload } from "jose";
import { truncateText } from "../../../shared/program/wording.ts";
import { DEFAULT_STAFF_ROLE, type IssuerConfig } from "./issuer-config.ts";
import {
  hasAcceptedType,
  isAccessToken,
  readEmail,
  readGroups,
  readRoles,
  readSubject,
  toUserId,
  type VerifiedToken,
} from "./token-claims.ts";
import { badClaim, missingClaim } from "./token-refusal.ts";

const MAX_SHOWN_CHARACTERS = 200;

/** One claim of a token, or field of its header, and what its issuer's configuration makes of it. */
export interface ClaimFinding {
  claim: string;
  /** The value as JSON, shortened. */
  found: string;
  /** The step at which the token is refused because of it. */
  refusal?: string;
  /** What is made of it; of a refused one, what would be accepted. */
  meaning: string;
}

/** A group of the issuer, and the role that it gives in an organization. */
export type MappedGroup = IssuerConfig["groups"][number];

/** What a token says, claim by claim in the order of verification, whatever its signature is worth. */
export function explainToken(
  header: Pick<JWTHeaderParameters, "typ">,
  payload: JWTPayload,
  config: IssuerConfig,
  nowMs: number,
  mappings: readonly MappedGroup[] = config.groups,
): ClaimFinding[] {
  const token = { protectedHeader: header, payload };
  return [
    explainAudience(payload, config),
    ...explainTimes(payload, config, nowMs / 1000),
    ...explainKind(token, config),
    explainSubject(payload, config),
    ...explainEmail(payload, config),
    explainRoles(payload, config),
    explainGroups(payload, config, mappings),
  ];
}

/** A value of a token as JSON, shortened. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${truncateText(text, MAX_SHOWN_CHARACTERS)}…`;
}

function explainAudience({ aud }: JWTPayload, { audiences }: IssuerConfig): ClaimFinding {
  const finding = { claim: "aud", found: show(aud) };
  if ([aud].flat().some((one) => audiences.some((audience) => audience === one)))
    return { ...finding, meaning: "accepted" };
  const refusal = aud === undefined ? missingClaim("aud") : "audience not accepted";
  return { ...finding, refusal, meaning: `accepted: ${audiences.join(", ")} (audience)` };
}

function explainTimes({ exp, nbf }: JWTPayload, config: IssuerConfig, nowSeconds: number): ClaimFinding[] {
  const tolerance = config.clockToleranceSeconds;
  const tolerated = `with ${tolerance} s of tolerance (clockToleranceSeconds)`;
  const findings: ClaimFinding[] = [];
  const found = show(exp);
  if (typeof exp !== "number") {
    const refusal = exp === undefined ? missingClaim("exp") : badClaim("exp");
    findings.push({ claim: "exp", found, refusal, meaning: "must be a time in seconds" });
  } else if (exp <= nowSeconds - tolerance) {
    const meaning = `ended ${Math.round(nowSeconds - exp)} s ago, refused ${tolerated}`;
    findings.push({ claim: "exp", found, refusal: "token expired", meaning });
  } else findings.push({ claim: "exp", found, meaning: `ends in ${Math.round(exp - nowSeconds)} s` });
  if (typeof nbf === "number" && nbf > nowSeconds + tolerance) {
    const meaning = `begins in ${Math.round(nbf - nowSeconds)} s, refused ${tolerated}`;
    findings.push({ claim: "nbf", found: show(nbf), refusal: "token not valid yet", meaning });
  }
  return findings;
}

function explainKind(token: VerifiedToken, config: IssuerConfig): ClaimFinding[] {
  const { typ } = token.protectedHeader;
  const type = { claim: "typ of the header", found: show(typ) };
  if (!hasAcceptedType(typ, config.types)) {
    const meaning = `accepted: ${config.types.map((name) => name || '"" (none)').join(", ")} (types)`;
    return [{ ...type, refusal: "token type not accepted", meaning }];
  }
  const accepted = { ...type, meaning: "accepted" };
  if (config.idTokens || isAccessToken(token)) return [accepted];
  const { typ: kind, azp, aud, nonce, at_hash, c_hash } = token.payload;
  return [
    accepted,
    {
      claim: "typ, azp, nonce, at_hash, c_hash",
      found: show({ typ: kind, azp, aud, nonce, at_hash, c_hash }),
      refusal: "not an access token",
      meaning: "an ID token: request an access token (idTokens accepts both)",
    },
  ];
}

function explainSubject(payload: JWTPayload, config: IssuerConfig): ClaimFinding {
  const finding = { claim: config.subjectClaim, found: show(payload[config.subjectClaim]) };
  try {
    return { ...finding, meaning: `the user ${toUserId(readSubject(payload, config), config)}` };
  } catch (error) {
    const refusal = (error as Error).message;
    return { ...finding, refusal, meaning: "must be the person's subject, a string (subjectClaim)" };
  }
}

function explainEmail(payload: JWTPayload, config: IssuerConfig): ClaimFinding[] {
  const { emailClaim, emailVerifiedClaim } = config;
  const email = readEmail(payload, config);
  const without = "this person can create no organization and finds no invitation";
  const verified = email.isVerified
    ? `verified; ${config.trustEmail ? "finds invitations" : "finds no invitation (trustEmail)"}`
    : `not verified: ${without} (emailVerifiedClaim)`;
  return [
    {
      claim: emailClaim,
      found: show(payload[emailClaim]),
      meaning:
        email.address === undefined
          ? `no e-mail address in ASCII: ${without} (emailClaim)`
          : "the e-mail address",
    },
    { claim: emailVerifiedClaim, found: show(payload[emailVerifiedClaim]), meaning: verified },
  ];
}

function explainRoles(payload: JWTPayload, config: IssuerConfig): ClaimFinding {
  const roles = readRoles(payload, config);
  const finding = { claim: config.rolesClaim.join(" > "), found: show(roles) };
  if (!roles.includes(config.staffRole))
    return { ...finding, meaning: `no staff: lacks ${config.staffRole} (rolesClaim, staffRole)` };
  const meaning = config.admin
    ? `staff (${DEFAULT_STAFF_ROLE})`
    : "no staff: roles of this issuer do not count (admin)";
  return { ...finding, meaning };
}

function explainGroups(
  payload: JWTPayload,
  config: IssuerConfig,
  mappings: readonly MappedGroup[],
): ClaimFinding {
  const groups = readGroups(payload, config);
  const finding = { claim: config.groupsClaim.join(" > "), found: show(groups) };
  const mapped = mappings.filter(({ group }) => groups.includes(group));
  if (mapped.length === 0)
    return { ...finding, meaning: "none is mapped to an organization (groupsClaim, groups)" };
  if (readEmail(payload, config).address === undefined)
    return { ...finding, meaning: "no membership without an e-mail address (emailClaim)" };
  const memberships = mapped.map(
    ({ group, role, organization }) => `${show(group)}: ${role} of the organization ${organization}`,
  );
  return { ...finding, meaning: memberships.join("; ") };
}
