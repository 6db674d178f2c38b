import { z } from "zod";

/** The live feed of clusters. */
export const systemEventVariables = z
  .object({
    MARINA_EVENT_HARVESTER: z.enum(["enabled", "disabled"]).default("enabled"),
    MARINA_MAX_STREAMS: z.coerce.number().int().min(1).default(5000),
    MARINA_MAX_STREAMS_PER_PRINCIPAL: z.coerce.number().int().min(1).default(100),
    MARINA_MAX_STREAMS_PER_USER: z.coerce.number().int().min(1).default(200),
    MARINA_MAX_STREAMS_PER_ORGANIZATION: z.coerce.number().int().min(1).default(500),
  })
  .transform((env) => ({
    systemEvents: {
      /** Off: nothing is harvested, and the feed responds with 503. Must be the same on every replica. */
      isEnabled: env.MARINA_EVENT_HARVESTER === "enabled",
      /** Open streams of one process. */
      maxStreams: env.MARINA_MAX_STREAMS,
      /** The limit of one credential: a person's own, or one API token. */
      maxStreamsPerPrincipal: env.MARINA_MAX_STREAMS_PER_PRINCIPAL,
      /** The limit of a person together with all API tokens that the person created. */
      maxStreamsPerUser: env.MARINA_MAX_STREAMS_PER_USER,
      maxStreamsPerOrganization: env.MARINA_MAX_STREAMS_PER_ORGANIZATION,
    },
  }));

export type SystemEventsConfig = z.output<typeof systemEventVariables>["systemEvents"];
