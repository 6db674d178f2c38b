import type { KubeObject } from "../../shared/kube/kind.ts";
import type { CapiCondition } from "./kinds.ts";

/** A provider's object of a cluster, the fields that every provider has by Cluster API's contract. */
export interface InfrastructureCluster extends KubeObject {
  spec?: object;
  status?: {
    observedGeneration?: number;
    /** Of providers that follow the contract v1beta1. */
    ready?: boolean;
    initialization?: { provisioned?: boolean };
    conditions?: CapiCondition[];
  };
}

/** What a provider says of its object of a cluster. */
export interface InfrastructureState {
  /** It has acted on the object as it is now, as far as it tells, and the infrastructure is there. */
  isSettled: boolean;
  /** Every text in the lists of its specification: the networks that may reach the endpoint are among them. */
  listed: ReadonlySet<string>;
}

/** Reads what Cluster API's contract of infrastructure clusters has; a generation that is not reported counts as observed. */
export function readInfrastructure(object: InfrastructureCluster): InfrastructureState {
  const { metadata, spec = {}, status = {} } = object;
  const generation = metadata.generation ?? 0;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const isCurrent = [status.observedGeneration, ready?.observedGeneration].every(
    (observed) => observed === undefined || observed >= generation,
  );
  const isThere = status.initialization?.provisioned === true || status.ready === true;
  const isReady = ready === undefined ? isThere : ready.status === "True";
  return { isSettled: isCurrent && isReady, listed: new Set(collectListed(spec, false)) };
}

function collectListed(value: unknown, isInList: boolean): string[] {
  if (typeof value === "string") return isInList ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => collectListed(item, true));
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => collectListed(item, false));
}
