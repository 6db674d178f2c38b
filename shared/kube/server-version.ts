import { z } from "zod";
import { ExplainedError } from "../program/errors.ts";
import type { Logger } from "../program/log.ts";
import { KubeError, toKubeError } from "./errors.ts";
import type { Transport } from "./transport.ts";

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
