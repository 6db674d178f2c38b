import { z } from "zod";

export const organizationVariables = z
  .object({
    MARINA_CLUSTER_ACCESSES_PER_ORGANIZATION: z.coerce.number().int().min(1).max(1_000_000).default(2000),
  })
  .transform((env) => ({
    /** ClusterAccess objects in one organization's Namespace, by REST and by kubectl. */
    maxClusterAccessesPerOrganization: env.MARINA_CLUSTER_ACCESSES_PER_ORGANIZATION,
  }));
