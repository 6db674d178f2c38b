import { z } from "@hono/zod-openapi";
import { GROUP_ROLES, MAX_GROUP_LENGTH } from "../../http/authentication/issuer-config.ts";
import {
  idField,
  immutableField,
  readOnlyField,
  textField,
  timestampField,
} from "../../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../../http/contract/page.ts";
import { idSchema } from "../../http/contract/validate.ts";
import { MAPPING_MANAGERS } from "./table.ts";

const MAX_ISSUER_LENGTH = 2048;
const ISSUER = "https://identity.example.com";
const ORGANIZATION = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";

const roleField = z.enum(GROUP_ROLES).openapi({
  description:
    "What the people of the group are in the organization. Of several groups the strongest role holds: admin, member, billing, viewer, in this order.",
});
const issuerText = z.string().min(1).max(MAX_ISSUER_LENGTH);
const groupText = z.string().min(1).max(MAX_GROUP_LENGTH);

export const groupMappingRecord = z
  .object({
    id: idField("The mapping."),
    issuer: textField(MAX_ISSUER_LENGTH, "The issuer of the tokens that carry the group."),
    group: textField(MAX_GROUP_LENGTH, "The group, as it is in the tokens."),
    org_id: idField("The organization."),
    role: roleField,
    managed_by: z.enum(MAPPING_MANAGERS).openapi({
      description:
        "`staff`: made here. `configuration`: one of `oidc.issuers[].groups`, which is changed there alone.",
    }),
    created_at: timestampField("When the mapping was made."),
  })
  .openapi("GroupMapping", {
    example: {
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      issuer: ISSUER,
      group: "acme-developers",
      org_id: ORGANIZATION,
      role: "member",
      managed_by: "staff",
      created_at: "2026-11-21T09:00:00.000Z",
    },
  });

export const groupMappingPage = pageSchema(groupMappingRecord, "GroupMappingPage");

export const groupMappingQuery = pageQuery.extend({
  org_id: idSchema.optional().openapi({ description: "Only those to this organization." }),
  issuer: issuerText.optional().openapi({ description: "Only those of this issuer." }),
});

export const createGroupMappingBody = z
  .strictObject({
    issuer: issuerText.openapi({ description: "One of the configured issuers, as `iss` of its tokens." }),
    group: groupText.openapi({ description: "The group, to the letter as it is in the tokens." }),
    org_id: idSchema.openapi({ description: "The organization." }),
    role: roleField,
  })
  .openapi("CreateGroupMapping", {
    example: { issuer: ISSUER, group: "acme-developers", org_id: ORGANIZATION, role: "member" },
  });

/** What a GET returns may be sent back. */
export const updateGroupMappingBody = z
  .strictObject({
    role: roleField.optional(),
    id: immutableField(idSchema),
    issuer: immutableField(issuerText),
    group: immutableField(groupText),
    org_id: immutableField(idSchema),
    managed_by: readOnlyField,
    created_at: readOnlyField,
  })
  .openapi("UpdateGroupMapping", { example: { role: "viewer" } });
