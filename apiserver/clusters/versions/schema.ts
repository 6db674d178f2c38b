import { z } from "@hono/zod-openapi";
import { textField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";

const KUBERNETES_VERSION_STATUSES = ["supported", "deprecated", "end_of_life"] as const;

export const kubernetesVersionRecord = z
  .object({
    version: textField(16, "MAJOR.MINOR.PATCH.", "1.34.2"),
    status: z.enum(KUBERNETES_VERSION_STATUSES).openapi({
      description:
        "A deprecated version still runs and can be requested; one at its end of life cannot be requested.",
    }),
    deprecated_at: timestampField("When it becomes deprecated; null: not set.").nullable(),
    end_of_life_at: timestampField("When it reaches its end of life; null: not set.").nullable(),
  })
  .openapi("KubernetesVersion", {
    example: {
      version: "1.34.2",
      status: "supported",
      deprecated_at: null,
      end_of_life_at: "2027-10-27T00:00:00.000Z",
    },
  });

export const kubernetesVersionPage = pageSchema(kubernetesVersionRecord, "KubernetesVersionPage");
