import { ExplainedError } from "../../shared/program/errors.ts";
import type { ConfiguredIssuer, IssuerConfig } from "../http/authentication/issuer-config.ts";

/** How the ids of an issuer's users are made. */
export type IdRules = Pick<IssuerConfig, "subjectClaim" | "idNamespace" | "uuidSubjects">;

/** What Postgres knows of a configured issuer. */
export interface KnownIssuer {
  /** The rules of its last start, or of the issuer whose place it takes; undefined at the first one. */
  recorded: IdRules | undefined;
  hasUsers: boolean;
  /** Nothing is recorded, and some of its users have ids of version 5. */
  hasMadeIds: boolean;
}

/** Users of before issuers were recorded have their subject as the id. */
const RULES_OF_UNRECORDED = { subjectClaim: "sub", uuidSubjects: true };

/**
 * The rules by which an issuer's users get their ids from now on; `isFirst` of the configured ones. Throws
 * ExplainedError when they would make new people of users whom it has, unless `acceptNewIds` says so.
 */
export function decideIdRules(
  config: ConfiguredIssuer,
  { recorded, hasUsers, hasMadeIds }: KnownIssuer,
  isFirst: boolean,
): IdRules {
  const { issuer, subjectClaim, idNamespace } = config;
  const uuidSubjects = config.uuidSubjects ?? recorded?.uuidSubjects ?? (isFirst || hasUsers);
  const rules = { subjectClaim, idNamespace, uuidSubjects };
  if (!hasUsers || config.acceptNewIds) return rules;
  const remedy =
    "or set acceptNewIds: true, which makes new people of them, without memberships, and remove it after the first start";
  const before = recorded ?? { ...RULES_OF_UNRECORDED, idNamespace };
  for (const name of ["subjectClaim", "idNamespace", "uuidSubjects"] as const) {
    if (before[name] === rules[name]) continue;
    throw new ExplainedError(
      `The issuer ${issuer} has users, whose ids were made with ${name} ${JSON.stringify(before[name])}: set it to that again in MARINA_OIDC_ISSUERS, ${remedy}.`,
    );
  }
  if (hasMadeIds) {
    throw new ExplainedError(
      `The issuer ${issuer} has users whose subjects are UUIDs of version 5, which are ids no longer, for another issuer's users could have them: have the issuer give other subjects, ${remedy}.`,
    );
  }
  return rules;
}
