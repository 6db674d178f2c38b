import { z } from "@hono/zod-openapi";
import { auditActorRecord } from "../../audit/schema.ts";
import { idField, textField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";
import { KEPT_DECIMALS, MAX_EUROS } from "../fields-schema.ts";

/** The packages of the catalogue, the smallest first (section 2.6 of the specification). */
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

export const planRecord = z
  .object({
    slug: z.enum(PACKAGE_SLUGS).openapi({ description: "What a create of a cluster takes as `plan`." }),
    ...termsShape,
  })
  .openapi("Plan", {
    example: {
      slug: "starter",
      monthly_price_eur: 59,
      control_plane_replicas: 1,
      includes: EXAMPLE_TERMS.includes,
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
