import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type Kind, type KubeObject, type ObjectMeta } from "../../shared/kube/kind.ts";
import { elapsedMs } from "../../shared/program/time.ts";
import type { CapiCluster, CapiCondition } from "./kinds.ts";

/** A provider's object of a cluster, the fields that every provider has by Cluster API's contract. */
export interface InfrastructureCluster extends KubeObject {
  spec?: { apiServerLoadBalancer?: { allowedCIDRs?: string[] } };
  status?: {
    /** From OpenStack's provider alone, as in the specification. */
    apiServerLoadBalancer?: { allowedCIDRs?: string[] };
    observedGeneration?: number;
    /** From providers that follow the contract v1beta1. */
    ready?: boolean;
    initialization?: { provisioned?: boolean };
    conditions?: CapiCondition[];
  };
}

/** What a provider says of its object of a cluster. */
export interface InfrastructureState {
  /** It has acted on the present version of the object, as far as it reports that, and is ready; undefined = it was not read. */
  hasActed: boolean | undefined;
  /** The texts of each list of its specification; those within the items of a list count with it. */
  lists: readonly ReadonlySet<string>[];
  /** The API group of an object that is not there, or may not be read. */
  unreadable?: string;
}

/** A provider that reports no generation acts on a change of its object within this time, or is not ready any more. */
const ACTS_WITHIN_MS = 30_000;

/**
 * Reads what Cluster API's contract of infrastructure clusters has. What a provider without generations reports holds
 * for the present object once its specification has not changed for 30 s, or OpenStack's status has its list.
 */
export function readInfrastructure(object: InfrastructureCluster, now: Date): InfrastructureState {
  const { metadata, spec = {}, status = {} } = object;
  const generation = metadata.generation ?? 0;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const reported = [status.observedGeneration, ready?.observedGeneration].filter(
    (observed) => observed !== undefined,
  );
  const isSeen = ready && object.kind === "OpenStackCluster" ? hasItsList(object) : isStable(metadata, now);
  const isCurrent = reported.length === 0 ? isSeen : reported.every((observed) => observed >= generation);
  const isThere = status.initialization?.provisioned === true || status.ready === true;
  const isReady = ready === undefined ? isThere : ready.status === "True";
  return { hasActed: isCurrent && isReady, lists: collectLists(spec).map((texts) => new Set(texts)) };
}

/** The provider writes what its load balancer lets in, with the cluster's own addresses, and is not ready if that has failed. */
function hasItsList({ spec, status }: InfrastructureCluster): boolean {
  const { apiServerLoadBalancer, ...own } = status ?? {};
  const wanted = spec?.apiServerLoadBalancer?.allowedCIDRs ?? [];
  const given = apiServerLoadBalancer?.allowedCIDRs ?? [];
  const known = JSON.stringify([wanted, own]).replaceAll('/32"', '"');
  const isKnown = (block: string) => known.includes(`"${block.replace(/\/32$/, "")}"`);
  return wanted.every((block) => given.includes(block)) && given.every(isKnown);
}

/** The Kubernetes API records when each manager last changed fields of the specification. */
function isStable({ managedFields = [] }: ObjectMeta, now: Date): boolean {
  const changes = managedFields.filter(
    ({ subresource, fieldsV1 }) => !subresource && fieldsV1?.["f:spec"] !== undefined,
  );
  return changes.length > 0 && changes.every(({ time }) => elapsedMs(time, now) >= ACTS_WITHIN_MS);
}

function collectLists(value: unknown): string[][] {
  if (Array.isArray(value))
    return [value.flatMap((item) => (typeof item === "string" ? [item] : collectLists(item).flat()))];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(collectLists);
}

/** Reads the provider's object of a cluster, of whatever kind it is. */
export interface InfrastructureReader {
  /** Undefined = Cluster API names none yet, or does not respond. */
  read(
    capi: CapiCluster | undefined,
    now: Date,
    signal: AbortSignal,
  ): Promise<InfrastructureState | undefined>;
}

/** The kinds that the Kubernetes API has change when a provider is installed. */
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
    async read(capi, now, signal) {
      const { apiGroup, kind, name } = capi?.spec?.infrastructureRef ?? {};
      if (apiGroup === undefined || kind === undefined || name === undefined) return undefined;
      const unreadable = { hasActed: undefined, lists: [], unreadable: apiGroup };
      try {
        const found = await findKind(apiGroup, kind, signal);
        const object = found && (await client.get(found, capi?.metadata.namespace, name, { signal }));
        return object ? readInfrastructure(object, now) : unreadable;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        return error.status === 403 || error.isNotFound ? unreadable : undefined;
      }
    },
  };
}
