import { z } from "zod";

/** What one user may have unless the platform's staff set others. */
export interface UserQuotaAmounts {
  /** Organizations that the user has created and that are not deleted. */
  organizations: number;
}

/** The quotas of a user that staff has set none for. */
export const userVariables = z
  .object({ MARINA_ORGANIZATIONS_PER_USER: z.coerce.number().int().min(0).max(1_000_000).default(5) })
  .transform((env): { userQuotas: UserQuotaAmounts } => ({
    userQuotas: { organizations: env.MARINA_ORGANIZATIONS_PER_USER },
  }));
