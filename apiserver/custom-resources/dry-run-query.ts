import { z } from "@hono/zod-openapi";

/** Query of an operation that has a dry run. */
export const dryRunQuery = z.strictObject({
  dry_run: z
    .enum(["true", "false"])
    .default("false")
    .transform((text) => text === "true")
    .openapi({
      type: "boolean",
      default: false,
      description:
        "A dry run: every check is made, and nothing is changed. The response is 200 with the record as it would be and the effects of the request.",
    }),
});
