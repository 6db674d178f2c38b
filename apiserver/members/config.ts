import { z } from "zod";

export const memberVariables = z
  .object({ MARINA_INVITATIONS_PER_USER: z.coerce.number().int().min(1).max(100_000).default(100) })
  .transform((env) => ({
    /** Pending invitations that one user has sent, in all organizations. */
    maxInvitationsPerUser: env.MARINA_INVITATIONS_PER_USER,
  }));
