import { z } from "@hono/zod-openapi";
import { pageSchema } from "../http/page.ts";
import { PLANS } from "./schema.ts";

const KUBERNETES_VERSION_STATUSES = ["supported", "deprecated", "end_of_life"] as const;

export const kubernetesVersionRecord = z
  .object({
    version: z.string().openapi({ example: "1.34.2" }),
    status: z.enum(KUBERNETES_VERSION_STATUSES).openapi({
      description: "A deprecated version still runs and can be asked for; one at its end of life cannot.",
    }),
    deprecated_at: z.iso.datetime().nullable(),
    end_of_life_at: z.iso.datetime().nullable(),
  })
  .openapi("KubernetesVersion");

export const kubernetesVersionPage = pageSchema(kubernetesVersionRecord, "KubernetesVersionPage");

export const planRecord = z
  .object({ slug: z.enum(PLANS).openapi({ description: "What a create takes as `plan`." }) })
  .openapi("Plan");

export const planPage = pageSchema(planRecord, "PlanPage");
