import type { Permission } from "../authorization/permissions.ts";

/** A person who presented a JSON Web Token of a configured issuer. */
export interface UserPrincipal {
  kind: "user";
  /** The token's `sub`, a lower-case UUID. */
  userId: string;
  issuer: string;
  email?: string;
  /** The token carries an e-mail address and says that it is verified. */
  emailVerified: boolean;
  /** As emailVerified, and the issuer is one whose word on addresses binds invitations. */
  emailTrusted: boolean;
  /** Realm roles; empty unless the issuer is configured to grant them. */
  roles: readonly string[];
  /** Unix time in milliseconds after which the token is no longer valid. */
  expiresAtMs: number;
}

/** A program that presented an API token. It acts in one organization, within the rights of the token's creator. */
export interface TokenPrincipal {
  kind: "token";
  tokenId: string;
  /** Who made the token. */
  userId: string;
  orgId: string;
  email?: never;
  emailVerified: false;
  emailTrusted: false;
  roles: readonly [];
  expiresAtMs: number;
}

/** Who makes a request. */
export type Principal = UserPrincipal | TokenPrincipal;

export const ROLES = ["owner", "admin", "member", "billing", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** The principal's place in the organization that the path names. */
export interface Membership {
  memberId: string;
  orgId: string;
  /** The role held there; of a token, its own. */
  role: Role;
  /** What may be done now: all that the guards ask. */
  rights: ReadonlySet<Permission>;
}

/** What is known of a caller: nothing on public paths, no membership outside an organization. */
export interface Caller {
  principal?: Principal;
  membership?: Membership;
}

/** Where a change came from: what an audit row says about its author. */
export interface Origin {
  principal: Principal;
  requestId: string;
  sourceAddress: string | undefined;
  /** The request came in on a path of the platform's staff. */
  asStaff?: boolean;
}

/** A stable text for the principal, for scoping of keys and rate limits: `user:<id>` or `token:<id>`. */
export function principalKey(principal: Principal): string {
  return `${principal.kind}:${principal.kind === "user" ? principal.userId : principal.tokenId}`;
}
