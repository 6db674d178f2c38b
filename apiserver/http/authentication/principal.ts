import { createId, NIL_ID } from "../../../shared/program/id.ts";

/** A person who presented a JSON Web Token of a configured issuer. */
export interface UserPrincipal {
  kind: "user";
  /** Made of the token's subject: a lower-case UUID. */
  userId: string;
  issuer: string;
  email?: string;
  /** The token carries an e-mail address and says that it is verified. */
  emailVerified: boolean;
  /** As emailVerified, and the issuer is trusted to verify the addresses that invitations are bound by. */
  emailTrusted: boolean;
  /** Platform roles, `platform-admin` for the staff; empty unless the issuer is configured to grant them. */
  roles: readonly string[];
  /** Unix time in milliseconds after which the token is no longer valid. */
  expiresAtMs: number;
}

/** The groups that a token carries, and until when they may be relied on. */
export interface CarriedGroups {
  names: readonly string[];
  untilMs: number;
}

/** A program that presented an API token. It acts in one organization, within the rights of the token's creator. */
export interface TokenPrincipal {
  kind: "token";
  tokenId: string;
  /** The token's creator. */
  userId: string;
  orgId: string;
  /** The version of the token whose secret was presented; rises with every rotation. */
  version: number;
  email?: never;
  emailVerified: false;
  emailTrusted: false;
  roles: readonly [];
  expiresAtMs: number;
}

/** The authenticated caller of a request. */
export type Principal = UserPrincipal | TokenPrincipal;

/** The author of a change, as audit rows record it. */
export interface Author {
  principal: Principal;
  /** Made here, for this request alone. */
  requestId: string;
  /** What the client calls its request. */
  clientRequestId?: string | undefined;
  sourceAddress: string | undefined;
  /** The request came in on a path of the platform's staff. */
  asStaff?: boolean;
  /** The loop of the service that acts on this user without a request. */
  asSystem?: string;
}

/** The service itself as the author of what one of its loops does without a request, to this user or to none. */
export function systemAuthor(asSystem: string, userId = NIL_ID): Author {
  const rights = { emailVerified: false, emailTrusted: false, roles: [], expiresAtMs: 0 };
  return {
    principal: { kind: "user", userId, issuer: "", ...rights },
    requestId: createId(),
    sourceAddress: undefined,
    asSystem,
  };
}

/** A stable key of the principal for idempotency and rate limits: `user:<id>` or `token:<id>`. */
export function principalKey(principal: Principal): string {
  return `${principal.kind}:${principal.kind === "user" ? principal.userId : principal.tokenId}`;
}
