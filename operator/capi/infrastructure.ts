import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type Kind, type KubeObject } from "../../shared/kube/kind.ts";
import type { CapiCluster, CapiCondition } from "./kinds.ts";

/** The rules of a security group of AWS. */
type IngressRules = { cidrBlocks?: string[]; ipv6CidrBlocks?: string[] }[];

/** A provider's object of a cluster: what every provider has by Cluster API's contract, and who reaches the endpoint in two. */
export interface InfrastructureCluster extends KubeObject {
  spec?: {
    apiServerLoadBalancer?: { allowedCIDRs?: string[] };
    controlPlaneLoadBalancer?: { ingressRules?: IngressRules };
    network?: { vpc?: unknown };
  };
  status?: {
    /** From OpenStack's provider alone, as in the specification. */
    apiServerLoadBalancer?: { allowedCIDRs?: string[] };
    /** From AWS's provider alone: the rules as it last read them from EC2, by the role of their group. */
    networkStatus?: {
      securityGroups?: Record<string, { ingressRule?: IngressRules }>;
      natGatewaysIPs?: string[];
    };
    observedGeneration?: number;
    /** From providers that follow the contract v1beta1. */
    ready?: boolean;
    initialization?: { provisioned?: boolean };
    conditions?: CapiCondition[];
  };
}

/** What a provider says of its object of a cluster. */
export interface InfrastructureState {
  /** It is ready, and reports that it has acted on the present version of the object; undefined = it was not read. */
  hasActed: boolean | undefined;
  /** It is ready, and reports nothing that shows whether it has acted. */
  isSilent?: boolean;
  /** The texts of each list of its specification; those within the items of a list count with it. */
  lists: readonly ReadonlySet<string>[];
  /** Why it cannot be read, with the next step (see UNREADABLE). */
  unreadable?: string;
}

/**
 * Reads what Cluster API's contract of infrastructure clusters has. A provider has acted on the present object when it
 * reports so: by the generation, or by the networks that it lets in.
 */
export function readInfrastructure(object: InfrastructureCluster): InfrastructureState {
  const { metadata, spec = {}, status = {} } = object;
  const generation = metadata.generation ?? 0;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const reported = [status.observedGeneration, ready?.observedGeneration].filter(
    (observed) => observed !== undefined,
  );
  const access = readAccess(object);
  // That an update has failed is in the condition alone; that the list is another one is so without it.
  const isShown =
    access === undefined
      ? reported.length > 0 || undefined
      : isAsWanted(access) && (ready ? true : undefined);
  const isThere = status.initialization?.provisioned === true || status.ready === true;
  const isReady = ready === undefined ? isThere : ready.status === "True";
  const isSettled = isReady && reported.every((observed) => observed >= generation);
  return {
    hasActed: isSettled && isShown === true,
    ...(isSettled && isShown === undefined && { isSilent: true }),
    lists: collectLists(spec).map((texts) => new Set(texts)),
  };
}

/** Who is to reach the endpoint, who does, and where the addresses of the cluster are; undefined = the provider does not report it. */
function readAccess({ apiVersion, kind, spec, status }: InfrastructureCluster) {
  // Later versions have these fields elsewhere.
  if (kind === "OpenStackCluster" && apiVersion?.endsWith("/v1beta1")) {
    const { apiServerLoadBalancer, ...addresses } = status ?? {};
    const { allowedCIDRs: wanted = [] } = spec?.apiServerLoadBalancer ?? {};
    return { wanted, given: apiServerLoadBalancer?.allowedCIDRs ?? [], addresses };
  }
  if (kind !== "AWSCluster") return undefined;
  const { securityGroups, natGatewaysIPs } = status?.networkStatus ?? {};
  const { ingressRules = [] } = spec?.controlPlaneLoadBalancer ?? {};
  // Without rules the provider lets everybody in.
  const isOpen = ingressRules.length === 0;
  const wanted = isOpen ? ["0.0.0.0/0"] : listNetworks(ingressRules);
  const given = listNetworks(securityGroups?.["apiserver-lb"]?.ingressRule);
  return { wanted, given, addresses: [spec?.network?.vpc, natGatewaysIPs, isOpen ? "::/0" : ""] };
}

function listNetworks(rules: IngressRules = []): string[] {
  return rules.flatMap(({ cidrBlocks = [], ipv6CidrBlocks = [] }) => [...cidrBlocks, ...ipv6CidrBlocks]);
}

/** Undefined = not known: OpenStack's provider reports no list that its load balancer ignores, AWS's no rules that it has not read yet. */
function isAsWanted({ wanted, given, addresses }: NonNullable<ReturnType<typeof readAccess>>) {
  if (wanted.length > 0 && given.length === 0) return undefined;
  const known = JSON.stringify([wanted, addresses]).replaceAll('/32"', '"');
  const isKnown = (block: string) => known.includes(`"${block.replace(/\/32$/, "")}"`);
  return wanted.every((block) => given.includes(block)) && given.every(isKnown);
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
  read(capiCluster: CapiCluster | undefined, signal: AbortSignal): Promise<InfrastructureState | undefined>;
}

/** Why an object of a resource cannot be read, with the next step. */
export const UNREADABLE = {
  forbidden: (resource: string, group: string) =>
    `Marina's operator may not read the object of the infrastructure. Ask the platform's operator to give it the right (RBAC) to get ${resource} of the API group ${group}.`,
  unserved: (resource: string) =>
    `the Kubernetes API serves no ${resource}. Ask the platform's operator to install its definition, which is part of the provider.`,
  absent: (resource: string) =>
    `the object of the infrastructure, of the resource ${resource}, is not there. Ask the platform's operator to look at it.`,
};

/** The kinds that the Kubernetes API has change when a provider is installed. */
const KINDS_ARE_READ_EVERY_MS = 600_000;
const MISSED_KINDS_ARE_READ_EVERY_MS = 5_000;

/**
 * The object is read on demand, not watched: it is needed after a change of network rules, until the provider has acted on
 * them, and its kind is not known before.
 */
export function createInfrastructureReader(
  client: Pick<KubeClient, "get" | "listKinds">,
  nowMs: () => number = () => performance.now(),
): InfrastructureReader {
  let known: { kinds: readonly Kind<KubeObject>[]; untilMs: number } | undefined;

  async function findKind(group: string, kind: string, signal: AbortSignal) {
    if (known === undefined || nowMs() >= known.untilMs)
      known = { kinds: await client.listKinds({ signal }), untilMs: nowMs() + KINDS_ARE_READ_EVERY_MS };
    const found = known.kinds.find((one) => one.group === group && one.kind === kind);
    if (found === undefined) return undefined;
    const { version, plural } = found;
    return defineKind<InfrastructureCluster>({ group, version, kind, plural, namespaced: true });
  }

  return {
    async read(capiCluster, signal) {
      const { apiGroup, kind, name } = capiCluster?.spec?.infrastructureRef ?? {};
      if (apiGroup === undefined || kind === undefined || name === undefined) return undefined;
      let resource = kind.toLowerCase();
      const cannot = (why: keyof typeof UNREADABLE): InfrastructureState => {
        if (known !== undefined && why !== "forbidden")
          known.untilMs = Math.min(known.untilMs, nowMs() + MISSED_KINDS_ARE_READ_EVERY_MS);
        return { hasActed: undefined, lists: [], unreadable: UNREADABLE[why](resource, apiGroup) };
      };
      try {
        const found = await findKind(apiGroup, kind, signal);
        if (found === undefined) return cannot("unserved");
        resource = found.plural;
        const object = await client.get(found, capiCluster?.metadata.namespace, name, { signal });
        return object ? readInfrastructure(object) : cannot("absent");
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (error.isNotFound) return cannot("unserved");
        return error.status === 403 ? cannot("forbidden") : undefined;
      }
    },
  };
}
