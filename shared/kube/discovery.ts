import { z } from "zod";
import { ExplainedError } from "../program/errors.ts";
import type { Logger } from "../program/log.ts";
import { KubeError, toKubeError } from "./errors.ts";
import { type Kind, type KubeObject, metadataOnly } from "./kind.ts";
import type { Transport } from "./transport.ts";

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

/**
 * The oldest Kubernetes of a management cluster: Cluster API 1.14 supports 1.33 to 1.36, and the rules of the custom
 * resources need no newer one. The chart's kubeVersion is the same.
 */
export const OLDEST_VERSION = { major: 1, minor: 33 };

/** A server that does not answer for this long delays no start. */
const DEADLINE_MS = 5_000;

/** The answer of /version; some clouds write the minor as `33+`. */
const versionSchema = z.object({
  major: z.string().transform((text) => Number.parseInt(text, 10)),
  minor: z.string().transform((text) => Number.parseInt(text, 10)),
});

/**
 * Rejects with an ExplainedError when the server is older than OLDEST_VERSION. When the server cannot answer, it logs
 * that and resolves.
 */
export async function requireServerVersion(
  transport: Pick<Transport, "request">,
  log: Logger,
): Promise<void> {
  try {
    const { major, minor } = await readVersion(transport);
    if (major > OLDEST_VERSION.major || minor >= OLDEST_VERSION.minor) return;
    throw new ExplainedError(
      `The management cluster runs Kubernetes ${major}.${minor}, and this program needs ${OLDEST_VERSION.major}.${OLDEST_VERSION.minor} or newer: upgrade the management cluster first.`,
    );
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    log.warn({ err: error }, "the version of the management cluster could not be read");
  }
}

async function readVersion(transport: Pick<Transport, "request">) {
  const path = "/version";
  const response = await transport.request({ method: "GET", path, timeoutMs: DEADLINE_MS });
  if (response.status >= 300) throw toKubeError(response, `GET ${path}`);
  return versionSchema.parse(response.body);
}
