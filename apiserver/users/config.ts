import { z } from "zod";
import { MAX_QUOTA } from "../../shared/crd/quota.ts";

/** What one user may have unless the platform's staff set others. */
export interface UserQuotaAmounts {
  /** Organizations that the user has created and that are not deleted. */
  organizations: number;
}

/** How many organizations a user with this quota of them may create within 30 days, those included that are deleted. */
export function toCreationLimit(organizations: number): number {
  return Math.min(MAX_QUOTA, 4 * organizations);
}

/** The quotas of a user that staff has set none for. */
export const userVariables = z
  .object({ MARINA_ORGANIZATIONS_PER_USER: z.coerce.number().int().min(0).max(1_000_000).default(5) })
  .transform((env): { userQuotas: UserQuotaAmounts } => ({
    userQuotas: { organizations: env.MARINA_ORGANIZATIONS_PER_USER },
  }));
