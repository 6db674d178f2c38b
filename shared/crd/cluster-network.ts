import ipaddr from "ipaddr.js";
import { z } from "zod";
import { cidrRules, isCidr, overlap } from "./cidr.ts";
import { immutable, type Rule, type TransitionRule, withRules } from "./rule.ts";

/** The networks inside a cluster. */
export interface ClusterNetwork {
  pods?: string[] | undefined;
  services?: string[] | undefined;
}

/** As in Cluster API's own schema. */
const MAX_BLOCK_LENGTH = 43;

const blockSchema = withRules(
  z
    .string()
    .min(1)
    .max(MAX_BLOCK_LENGTH)
    .meta({ description: "A block of addresses in CIDR notation, IPv4 or IPv6." }),
  cidrRules,
);

/** Rule of Kubernetes for both networks: https://kubernetes.io/docs/concepts/services-networking/dual-stack/ */
const familyRule: Rule<string[]> = {
  field: "",
  code: "invalid_cidr",
  message: "must have at most one IPv4 and one IPv6 block",
  cel: "self.size() < 2 || !self.all(block, isCIDR(block)) || cidr(self[0]).ip().family() != cidr(self[1]).ip().family()",
  holds: ([first, second]) =>
    first === undefined ||
    second === undefined ||
    !isCidr(first) ||
    !isCidr(second) ||
    ipaddr.parseCIDR(first)[0].kind() !== ipaddr.parseCIDR(second)[0].kind(),
};

/**
 * The networks of pods, or those of Services: one block, or one of each family. The first one is the primary family.
 */
export function networksSchema(description: string) {
  return withRules(
    z.array(blockSchema).min(1).max(2).meta({ description, "x-kubernetes-list-type": "atomic" }),
    [familyRule],
  );
}

/** The first pair of a block of pods and one of Services that overlap; what is no block overlaps nothing. */
export function findOverlap({ pods = [], services = [] }: ClusterNetwork): [string, string] | undefined {
  const blocks = services.filter(isCidr);
  const pairs = pods.filter(isCidr).flatMap((pod) => blocks.map((one): [string, string] => [pod, one]));
  return pairs.find(([pod, service]) => overlap(pod, service));
}

const overlapRule: Rule<ClusterNetwork> = {
  field: "services",
  code: "invalid_cidr",
  message: "must not overlap the networks of pods",
  cel: "!has(self.pods) || !has(self.services) || self.pods.all(pod, self.services.all(service, !isCIDR(pod) || !isCIDR(service) || !(cidr(pod).containsCIDR(service) || cidr(service).containsCIDR(pod))))",
  holds: (network) => findOverlap(network) === undefined,
};

export const clusterNetworkSchema = withRules(
  z
    .object({
      pods: networksSchema("Addresses of pods: one block, or one IPv4 and one IPv6 block.").optional(),
      services: networksSchema(
        "Addresses of Services: one block, or one IPv4 and one IPv6 block.",
      ).optional(),
    })
    .meta({
      description:
        "Networks inside the cluster. Immutable, also when absent; what is absent comes from the platform when the cluster is created.",
    }),
  [overlapRule],
);

/** For the spec of a cluster: its networks cannot be changed while nodes use them. */
export const clusterNetworkTransitionRule: TransitionRule<{ clusterNetwork?: ClusterNetwork | undefined }> =
  immutable(
    "clusterNetwork",
    "cannot be added, changed or removed after the cluster was created; create another cluster instead",
  );
