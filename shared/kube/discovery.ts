import { z } from "zod";
import { type Kind, type KubeObject, metadataOnly } from "./kind.ts";

/** Asks for all versions and resources of the API groups at once (aggregated discovery, Kubernetes 1.30 and later). */
export const ACCEPT_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const discoverySchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string().default("") }).default({ name: "" }),
      versions: z.array(
        z.object({
          version: z.string(),
          freshness: z.string().optional(),
          resources: z
            .array(
              z.object({
                resource: z.string(),
                scope: z.string(),
                verbs: z.array(z.string()),
                responseKind: z.object({ kind: z.string() }),
              }),
            )
            .default([]),
        }),
      ),
    }),
  ),
});

/**
 * The namespaced kinds that can be listed, each in the version that its server prefers, read as metadata only. Throws
 * an Error for a response of another form, and while the resources of a group are not known, as its server does not
 * respond.
 */
export function readListableKinds(response: unknown): Kind<KubeObject>[] {
  const { items } = discoverySchema.parse(response);
  const kinds = new Map<string, Kind<KubeObject>>();
  for (const { metadata, versions } of items) {
    for (const { version, freshness, resources } of versions) {
      const group = metadata.name;
      if (freshness === "Stale") throw new Error(`the resources of ${group}/${version} are not known`);
      for (const { resource, scope, verbs, responseKind } of resources) {
        const key = `${group}/${resource}`;
        if (scope !== "Namespaced" || !verbs.includes("list") || kinds.has(key)) continue;
        const { kind } = responseKind;
        kinds.set(key, metadataOnly({ group, version, kind, plural: resource, namespaced: true }));
      }
    }
  }
  return [...kinds.values()];
}
