import { z } from "@hono/zod-openapi";
import { MAX_AUTHORIZED_CIDRS } from "../../../shared/crd/cidr.ts";
import { auditActorRecord } from "../../audit/schema.ts";
import { idField, textField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";
import { MAX_MESSAGE_LENGTH } from "../../http/errors.ts";
import { KEPT_DECIMALS, MAX_EUROS } from "../fields-schema.ts";

/** The packages of the catalogue, the smallest first. */
export const PACKAGE_SLUGS = ["dev", "starter", "growth", "scale"] as const;

export type PackageSlug = (typeof PACKAGE_SLUGS)[number];

const MAX_VCPUS = 100_000;
const MAX_GB = 1_000_000;
const REPLICAS = [1, 3, 5];

const EXAMPLE_TERMS = {
  monthly_price_eur: 59,
  control_plane_replicas: 1,
  includes: { control_plane: 1, vcpu: 4, memory: 8, disk: 80 },
  retired: false,
};

const EXAMPLE_CAPABILITIES = {
  authorized_cidrs: { supported: true, reason: null },
  max_authorized_cidrs: null,
  authorized_ipv6_cidrs: { supported: true, reason: null },
  api_server_rate_limit: {
    supported: false,
    reason: "The cluster class standard-v1 does not support a rate limit of the API server.",
  },
  private_endpoint: { supported: true, reason: null },
  node_labels: { supported: true, reason: null },
  node_taints: { supported: true, reason: null },
  health_checks: { supported: true, reason: null },
  zones: [],
};

const amountField = (maximum: number, description: string, example: number) =>
  z.number().int().min(0).max(maximum).openapi({ description, example });

const includesShape = {
  control_plane: amountField(1, "Whether the control plane is contained.", 1),
  vcpu: amountField(MAX_VCPUS, "vCPUs of nodes.", 4),
  memory: amountField(MAX_GB, "Memory of nodes in GiB.", 8),
  disk: amountField(MAX_GB, "Disk of nodes in GiB.", 80),
};

const INCLUDES =
  "What the price contains, by resource type of the rate card. What a cluster uses above it is billed by the rate card.";

const includesRecord = z
  .object(includesShape)
  .openapi("PlanIncludes", { description: INCLUDES, example: EXAMPLE_TERMS.includes });

const PRICE = "In EUR for a month, net.";

const priceShape = z
  .number()
  .min(0)
  .max(MAX_EUROS)
  .openapi({ format: "double", description: PRICE, example: 59 });

const replicasField = z
  .number()
  .int()
  .min(1)
  .max(5)
  .openapi({ description: "Machines of the control plane: 1, 3 or 5.", example: 1 });

const retiredField = z.boolean().openapi({
  description: "Whether no new cluster can be created with it. Clusters that have it keep it.",
});

const termsShape = {
  monthly_price_eur: priceShape,
  control_plane_replicas: replicasField,
  includes: includesRecord,
};

const slugField = textField(40, "The slug of the package.", "starter");

const capabilityRecord = z
  .object({
    supported: z.boolean().openapi({ description: "Whether clusters with this package can have it." }),
    reason: textField(MAX_MESSAGE_LENGTH, "Why not; null where they can.").nullable(),
  })
  .openapi("PlanCapability", { example: { supported: true, reason: null } });

const known = (what: string) =>
  capabilityRecord.nullable().openapi({ description: `${what} Null: not known.` });

export const capabilitiesRecord = z
  .object({
    authorized_cidrs: known("A list of the networks that may reach the API endpoint."),
    max_authorized_cidrs: z.number().int().min(0).max(MAX_AUTHORIZED_CIDRS).nullable().openapi({
      description: "The most different blocks of such a list; null: as many as the field takes.",
    }),
    authorized_ipv6_cidrs: known("Blocks of IPv6 in such a list."),
    api_server_rate_limit: known("A rate limit in front of the API server."),
    private_endpoint: known("An API endpoint without a public address."),
    node_labels: known("Labels of any name on nodes."),
    node_taints: known("Taints on nodes."),
    health_checks: known("Unhealthy nodes are replaced."),
    zones: z
      .array(textField(63, "The name of a zone.", "zone-1"))
      .max(100)
      .openapi({ description: "The zones that nodes can be placed in; empty where there is no choice." }),
  })
  .openapi("PlanCapabilities", {
    description: "What the infrastructure of new clusters with this package has.",
    example: EXAMPLE_CAPABILITIES,
  });

export const planRecord = z
  .object({
    slug: z.enum(PACKAGE_SLUGS).openapi({ description: "What a create of a cluster takes as `plan`." }),
    ...termsShape,
    capabilities: capabilitiesRecord
      .nullable()
      .openapi({ description: "What new clusters with it can have; null: not known." }),
    unavailable_reason: textField(
      MAX_MESSAGE_LENGTH,
      "Why the platform offers no clusters with it at present; null: it does.",
    ).nullable(),
  })
  .openapi("Plan", {
    example: {
      slug: "starter",
      monthly_price_eur: 59,
      control_plane_replicas: 1,
      includes: EXAMPLE_TERMS.includes,
      capabilities: EXAMPLE_CAPABILITIES,
      unavailable_reason: null,
    },
  });

export const planPage = pageSchema(planRecord, "PlanPage");

const EXAMPLE_CHANGE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  slug: "starter",
  ...EXAMPLE_TERMS,
  effective_from: "2026-11-21T09:00:00.000Z",
  changed_by: {
    kind: "staff",
    id: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
    email: "alice@example.com",
    name: null,
  },
};

export const planTermsRecord = z
  .object({
    id: idField("These terms."),
    slug: slugField,
    ...termsShape,
    retired: retiredField,
    effective_from: timestampField("The first instant at which they hold; until the next ones."),
    changed_by: auditActorRecord.openapi({ description: "Who set them." }),
  })
  .openapi("PlanTerms", { example: EXAMPLE_CHANGE });

const { items, next_cursor: nextCursor } = pageSchema(planTermsRecord, "PlanTermsPage").shape;

export const planHistoryRecord = z
  .object({ current: planTermsRecord, items, next_cursor: nextCursor })
  .openapi("PlanHistory", {
    example: { current: EXAMPLE_CHANGE, items: [EXAMPLE_CHANGE], next_cursor: null },
  });

export const setPlanBody = z
  .strictObject({
    monthly_price_eur: priceShape.openapi({ description: `${PRICE} ${KEPT_DECIMALS}` }),
    control_plane_replicas: replicasField.refine((replicas) => REPLICAS.includes(replicas), {
      message: "must be 1, 3 or 5",
      params: { code: "invalid_enum" },
    }),
    includes: z
      .strictObject(includesShape)
      .openapi("SetPlanIncludes", { description: INCLUDES, example: EXAMPLE_TERMS.includes }),
    retired: retiredField,
  })
  .openapi("SetPlan", { example: EXAMPLE_TERMS });
