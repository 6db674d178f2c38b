import { z } from "zod";

export const apiTokenVariables = z
  .object({ MARINA_API_TOKENS_PER_ORGANIZATION: z.coerce.number().int().min(1).max(100_000).default(100) })
  .transform((env) => ({
    /** Tokens of one organization that are neither revoked nor expired. */
    maxApiTokensPerOrganization: env.MARINA_API_TOKENS_PER_ORGANIZATION,
  }));
