import { z } from "zod";

const unsupportedSchema = z.object({ no: z.string().min(1) });
const capabilitySchema = z.union([z.literal(true), unsupportedSchema]);

/** What the clusters of one plan can have; what is absent is not known. A plan without a class has nothing else. */
export const planCapabilitiesSchema = z.object({
  class: z.union([z.string().min(1), unsupportedSchema]),
  apiServerRateLimit: capabilitySchema.optional(),
  authorizedCIDRs: capabilitySchema.optional(),
  privateEndpoint: capabilitySchema.optional(),
  nodeLabels: capabilitySchema.optional(),
  nodeTaints: capabilitySchema.optional(),
  healthChecks: capabilitySchema.optional(),
  zones: z.union([z.array(z.string()), unsupportedSchema]).optional(),
  controlPlaneReplicas: z.array(z.number().int()).optional(),
});

/** What the operator publishes of the cluster classes, by plan; `default` is for clusters without one. */
export const classCapabilitiesSchema = z.record(z.string(), planCapabilitiesSchema);

/** True, or why not: a sentence. */
export type Capability = z.output<typeof capabilitySchema>;
export type PlanCapabilities = z.output<typeof planCapabilitiesSchema>;
export type ClassCapabilitiesByPlan = z.output<typeof classCapabilitiesSchema>;

/** The plan of clusters that name none. */
export const DEFAULT_PLAN = "default";

/** Why something is not to be had, a sentence; undefined = it is, or it is not known. */
export function findUnsupportedReason(capability: unknown): string | undefined {
  return unsupportedSchema.safeParse(capability).data?.no;
}
