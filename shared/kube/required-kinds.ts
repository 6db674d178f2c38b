import { z } from "zod";
import { ExplainedError } from "../explained-error.ts";
import type { Logger } from "../log.ts";
import { KubeError, toKubeError } from "./errors.ts";
import { apiVersionOf, type Kind } from "./kind.ts";
import { sleep } from "./sleep.ts";
import type { Transport } from "./transport.ts";

/** A server that does not answer for this long delays no start. */
const DEADLINE_MS = 3_000;
/** Discovery shows a new definition a moment after it is established. */
const SECOND_LOOK_AFTER_MS = 3_000;

/** An APIResourceList, of which only the names count. */
const resourceListSchema = z.object({ resources: z.array(z.object({ name: z.string() })) });

/** Kinds that the management cluster does not serve; the message names each CustomResourceDefinition. */
export class MissingKindsError extends ExplainedError {
  override readonly name = "MissingKindsError";

  constructor(missing: readonly Kind<unknown>[]) {
    const lines = missing.map(({ plural, group, version }) => `  ${plural}.${group} (version ${version})`);
    super(`The management cluster has no CustomResourceDefinition for:\n${lines.join("\n")}`);
  }
}

/** The kinds of which `served` has no resource; `served` is by apiVersion, the plural names of each. */
export function findMissingKinds(
  kinds: readonly Kind<unknown>[],
  served: ReadonlyMap<string, ReadonlySet<string>>,
): Kind<unknown>[] {
  return kinds.filter((kind) => served.get(apiVersionOf(kind))?.has(kind.plural) !== true);
}

/**
 * Rejects with a MissingKindsError when the server does not serve a kind, by one request for each group and version, and
 * another one after a few seconds before it rejects. A server that cannot answer is logged and stops nobody.
 */
export async function requireKinds(
  transport: Pick<Transport, "request">,
  kinds: readonly Kind<unknown>[],
  log: Logger,
): Promise<void> {
  try {
    const missing = findMissingKinds(kinds, await readServed(transport, kinds));
    if (missing.length === 0) return;
    await sleep(SECOND_LOOK_AFTER_MS);
    const stillMissing = findMissingKinds(missing, await readServed(transport, missing));
    if (stillMissing.length > 0) throw new MissingKindsError(stillMissing);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    log.warn({ err: error }, "the kinds of the management cluster could not be read");
  }
}

async function readServed(transport: Pick<Transport, "request">, kinds: readonly Kind<unknown>[]) {
  const versions = [...new Set(kinds.map(apiVersionOf))];
  const read = async (version: string) => [version, await readNames(transport, version)] as const;
  return new Map(await Promise.all(versions.map(read)));
}

/** No names for a group or version that does not exist. */
async function readNames(transport: Pick<Transport, "request">, version: string): Promise<Set<string>> {
  const path = `/apis/${version}`;
  const response = await transport.request({ method: "GET", path, timeoutMs: DEADLINE_MS });
  if (response.status === 404) return new Set();
  if (response.status >= 300) throw toKubeError(response, `GET ${path}`);
  return new Set(resourceListSchema.parse(response.body).resources.map(({ name }) => name));
}
