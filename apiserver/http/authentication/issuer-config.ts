import { z } from "zod";
import { isProtectedUrl } from "../../../shared/program/config.ts";

/** The name of the platform's staff's role in tokens unless an issuer has another. */
export const DEFAULT_STAFF_ROLE = "platform-admin";
const MAX_CLOCK_TOLERANCE_SECONDS = 300;
const DAY_SECONDS = 86_400;
const MAX_GROUPS_GRACE_SECONDS = 31 * DAY_SECONDS;

/** The most characters of a group's name. */
export const MAX_GROUP_LENGTH = 255;

/** The roles that a group of an identity provider can give in an organization, the strongest first. */
export const GROUP_ROLES = ["admin", "member", "billing", "viewer"] as const;
export type GroupRole = (typeof GROUP_ROLES)[number];

const protectedUrl = z
  .url()
  .regex(/^https?:\/\//, "must begin with https://")
  .refine(isProtectedUrl, "must be https, or a loopback address");
const name = z.string().min(1);
const names = z.union([name, z.array(name).min(1)]);

/** A group of the issuer, as its tokens have it, and the role that it gives in an organization. */
const mappedGroup = z.strictObject({
  group: name.max(MAX_GROUP_LENGTH),
  organization: z.guid().toLowerCase(),
  role: z.enum(GROUP_ROLES),
});

/**
 * What an installer writes for one issuer. The descriptions are those of the chart's schema and of
 * docs/operators/identity.
 */
export const issuerInput = z.strictObject({
  issuer: protectedUrl.describe("The issuer: the claim `iss` of its tokens, to the letter."),
  audience: names.describe(
    "One value or a list: a token is accepted when its claim `aud` has one of them. Name an audience of Marina's own.",
  ),
  jwksUrl: protectedUrl
    .optional()
    .describe(
      "Where the issuer publishes its keys. Default: what `<issuer>/.well-known/openid-configuration` names.",
    ),
  caBundle: z
    .string()
    .regex(/-----BEGIN CERTIFICATE-----/, "must be certificates in PEM")
    .optional()
    .describe(
      "Certificate authorities in PEM that the issuer's certificate is checked against. Default: the public ones and `caBundleConfigMap`.",
    ),
  subjectClaim: name
    .default("sub")
    .describe("The claim that tells one person from another: never given to a second person, never changed."),
  uuidSubjects: z
    .boolean()
    .optional()
    .describe(
      "Whether a subject that is a UUID, but none of version 5, is the user's id as it is. Default: what it was at the issuer's first start; then it is true for the first of the list, and for one that has users already.",
    ),
  idNamespace: name
    .optional()
    .describe(
      "What other subjects are made ids of, together with the subject. Default: the issuer. When the issuer's URL changes, set it to the former one: everyone keeps their id.",
    ),
  acceptNewIds: z
    .boolean()
    .default(false)
    .describe(
      "Whether a change of `subjectClaim`, `uuidSubjects` or `idNamespace` may make new people of those who have signed in.",
    ),
  emailClaim: name.default("email").describe("The claim with the e-mail address."),
  emailVerifiedClaim: name
    .default("email_verified")
    .describe('The claim that says that the address is verified: `true`, `"true"`, `1` or `"1"`.'),
  trustEmail: z
    .boolean()
    .default(false)
    .describe("Whether a verified address of this issuer finds the invitations that were sent to it."),
  admin: z
    .boolean()
    .default(false)
    .describe("Whether roles of this issuer count: its staff is the platform's."),
  rolesClaim: names
    .default(["realm_access", "roles"])
    .describe(
      "Where the roles are: one claim by its name, dots and slashes included, or a list of keys, one inside the other. The value is a list, or one string.",
    ),
  staffRole: name.default(DEFAULT_STAFF_ROLE).describe("The role of the platform's staff."),
  groupsClaim: names
    .default("groups")
    .describe("Where the groups are: as `rolesClaim`. Only groups that are mapped to an organization count."),
  groups: z
    .array(mappedGroup)
    .default([])
    .describe(
      "Groups whose people are members of an organization: a list of {group, organization, role}, with the group as it is in the claim, the organization's id, and a role below owner. `/api/v1/admin/group-mappings` has more.",
    ),
  groupsGraceSeconds: z
    .int()
    .min(0)
    .max(MAX_GROUPS_GRACE_SECONDS)
    .default(DAY_SECONDS)
    .describe(
      "How long a membership by a group goes on after the expiry of the last token that carried the group.",
    ),
  types: z
    .array(z.string())
    .min(1)
    .default(["JWT", "at+jwt"])
    .describe('Types (`typ` in the header) of the tokens that are accepted; `""` is a token without one.'),
  idTokens: z
    .boolean()
    .default(false)
    .describe(
      "Whether ID tokens are accepted too: only for a provider without access tokens of their own form, and only with an audience of Marina's alone.",
    ),
  clockToleranceSeconds: z
    .int()
    .min(0)
    .max(MAX_CLOCK_TOLERANCE_SECONDS)
    .default(30)
    .describe("How far the issuer's clock may differ from this one."),
});

export const issuerSchema = issuerInput.transform(
  ({ audience, rolesClaim, groupsClaim, idNamespace, ...rest }) => ({
    ...rest,
    /** A token is for one of these. */
    audiences: [audience].flat(),
    /** Keys, one inside the other. */
    rolesClaim: [rolesClaim].flat(),
    groupsClaim: [groupsClaim].flat(),
    idNamespace: idNamespace ?? rest.issuer,
  }),
);

/** Issuers without a second one of the same URL, or that could make the ids of another. */
export const issuersSchema = z
  .array(issuerSchema)
  .min(1)
  .superRefine((issuers, context) => {
    for (const [index, { issuer, idNamespace, groups }] of issuers.entries()) {
      const before = issuers.slice(0, index);
      const repeated = groups.find(({ group, organization }, position) =>
        groups.slice(0, position).some((one) => one.group === group && one.organization === organization),
      );
      const message = before.some((other) => other.issuer === issuer)
        ? `names the issuer ${issuer} a second time`
        : before.some((other) => other.idNamespace === idNamespace)
          ? `the idNamespace ${idNamespace} is that of another issuer, whose ids it could make`
          : repeated !== undefined
            ? `maps the group ${repeated.group} to the organization ${repeated.organization} a second time`
            : undefined;
      if (message !== undefined) context.addIssue({ code: "custom", path: [index], message });
    }
  });

export type IssuerInput = z.input<typeof issuerSchema>;

/** One issuer as it is configured. */
export type ConfiguredIssuer = z.output<typeof issuerSchema>;

/** One issuer of which it is known how the ids of its users are made. */
export type IssuerConfig = ConfiguredIssuer & { uuidSubjects: boolean };

/** The address of the issuer's discovery document (OpenID Connect Discovery 1.0, section 4). */
export function discoveryUrlOf({ issuer }: Pick<ConfiguredIssuer, "issuer">): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}
