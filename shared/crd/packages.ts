import { z } from "zod";

/** What the API server publishes of the packages that clusters are billed as, by slug: what both programs refuse. */
export const packagesSchema = z.record(
  z.string(),
  z.object({
    controlPlaneReplicas: z.number().int(),
    /** RFC 3339; a cluster that was created at or after it cannot have the package. Absent: on offer. */
    retiredAt: z.iso.datetime().optional(),
  }),
);
export type Packages = z.output<typeof packagesSchema>;
