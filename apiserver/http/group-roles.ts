/** The roles that a group of an identity provider can give in an organization, the strongest first. */
export const GROUP_ROLES = ["admin", "member", "billing", "viewer"] as const;
export type GroupRole = (typeof GROUP_ROLES)[number];
