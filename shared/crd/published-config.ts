import { z } from "zod";
import { UNRECORDED_KEY, UUID_PATTERN } from "./names.ts";

const unsupportedSchema = z.object({ no: z.string().min(1) });
const capabilitySchema = z.union([z.literal(true), unsupportedSchema]);

/** What the clusters of one plan can have; what is absent is not known. A plan without a class has nothing else. */
export const planCapabilitiesSchema = z.object({
  class: z.union([z.string().min(1), unsupportedSchema]),
  apiServerRateLimit: capabilitySchema.optional(),
  authorizedCIDRs: capabilitySchema.optional(),
  /** The most blocks of a tenant's list, those of platform and workers not counted; absent: as many as the field takes. */
  maxAuthorizedCIDRs: z.number().int().min(0).optional(),
  /** Whether such a list may have blocks of IPv6. */
  authorizedIPv6CIDRs: capabilitySchema.optional(),
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

/** What Marina's API server publishes of the packages of clusters, by slug: what both programs refuse. */
export const packagesSchema = z.record(
  z.string(),
  z.object({
    controlPlaneReplicas: z.number().int(),
    /** RFC 3339; a cluster that was created at or after it cannot have the package. Absent: on offer. */
    retiredAt: z.iso.datetime().optional(),
  }),
);
export type Packages = z.output<typeof packagesSchema>;

/** What runs in Cluster API and is in the record of no object of Marina: a cluster by its id, or a machine by its uid. */
const unrecordedUseSchema = z.object({
  kind: z.enum(["cluster", "machine"]),
  subject: z.string().regex(new RegExp(UUID_PATTERN)),
  /** When it was first seen to be gone, in whole seconds; absent while it runs. */
  goneAt: z.iso.datetime().max(24).optional(),
});

export type UnrecordedUse = z.output<typeof unrecordedUseSchema>;

/** A ConfigMap holds 1 MiB, and an entry has at most 103 characters, 115 with its quotes escaped. */
export const MAX_UNRECORDED = 9_000;

/**
 * What the operator publishes of such uses in a ConfigMap of the platform's namespace, so that Marina's API server goes
 * on metering them; empty where it has published nothing. Entries that name no such use are left out. Throws where the
 * text is no JSON array.
 */
export function readUnrecorded(
  map: { data?: Record<string, string> | undefined } | undefined,
): UnrecordedUse[] {
  const text = map?.data?.[UNRECORDED_KEY];
  if (text === undefined) return [];
  return z
    .array(z.unknown())
    .parse(JSON.parse(text))
    .flatMap((entry) => unrecordedUseSchema.safeParse(entry).data ?? []);
}

/** The data of that ConfigMap. */
export function writeUnrecorded(uses: readonly UnrecordedUse[]): Record<string, string> {
  return { [UNRECORDED_KEY]: JSON.stringify(uses.slice(0, MAX_UNRECORDED)) };
}
