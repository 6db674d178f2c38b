import { z } from "zod";

export const memberVariables = z
  .object({ MARINA_INVITATIONS_PER_ADDRESS: z.coerce.number().int().min(1).max(1000).default(20) })
  .transform((env) => ({
    /** Pending invitations of all organizations to one e-mail address. */
    maxInvitationsPerAddress: env.MARINA_INVITATIONS_PER_ADDRESS,
  }));
