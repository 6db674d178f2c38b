import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type Kind, type KubeObject } from "../../shared/kube/kind.ts";
import {
  type InfrastructureCluster,
  type InfrastructureState,
  readInfrastructure,
} from "../capi/infrastructure.ts";
import type { ObservedCluster } from "./observe.ts";

/** Reads the provider's object of a cluster, of whatever kind it is. */
export interface InfrastructureReader {
  /** Undefined = there is none, or it cannot be read. */
  read(observed: ObservedCluster, now: Date, signal: AbortSignal): Promise<InfrastructureState | undefined>;
}

/** The kinds that the API server has change when a provider is installed. */
const KINDS_ARE_READ_EVERY_MS = 600_000;

/**
 * The object is read on demand, not watched: what it says is needed for seconds after a change of a restricted network, and
 * its kind is not known before.
 */
export function createInfrastructureReader(
  client: Pick<KubeClient, "get" | "listKinds">,
  nowMs: () => number = () => performance.now(),
): InfrastructureReader {
  let known: { kinds: readonly Kind<KubeObject>[]; readAtMs: number } | undefined;

  async function findKind(group: string, kind: string, signal: AbortSignal) {
    if (known === undefined || nowMs() - known.readAtMs >= KINDS_ARE_READ_EVERY_MS)
      known = { kinds: await client.listKinds({ signal }), readAtMs: nowMs() };
    const found = known.kinds.find((one) => one.group === group && one.kind === kind);
    if (found === undefined) return undefined;
    const { version, plural } = found;
    return defineKind<InfrastructureCluster>({ group, version, kind, plural, namespaced: true });
  }

  return {
    async read({ capi }, now, signal) {
      const { apiGroup, kind, name } = capi?.object.spec?.infrastructureRef ?? {};
      if (apiGroup === undefined || kind === undefined || name === undefined) return undefined;
      try {
        const found = await findKind(apiGroup, kind, signal);
        const object = found && (await client.get(found, capi?.object.metadata.namespace, name, { signal }));
        return object && readInfrastructure(object, now);
      } catch (error) {
        if (error instanceof KubeError) return undefined;
        throw error;
      }
    },
  };
}
