import { isDeepStrictEqual } from "node:util";
import { ANNOTATION_NETWORK_REQUEST_ID, MANAGER_APISERVER_NETWORK } from "../../shared/crd/names.ts";
import { annotateSentCidrs, clustersOf, findSentCidrs, requireChangeable } from "../clusters/index.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import type { Preconditions } from "../http/contract/etag.ts";
import { requireUnchanged } from "../http/contract/fields.ts";
import { validationFailed } from "../http/errors.ts";
import { type CapabilitiesReader, findClusterCapabilities } from "../resources/capabilities.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { changeObject } from "../resources/write/index.ts";
import { auditNetworkPolicy } from "./present.ts";
import { applyPatch, checkCapabilities, replacePolicy } from "./replace-policy.ts";
import type { SetNetworkPolicyBody } from "./schema.ts";

/**
 * Replaces the network policy of a cluster, under a separate field manager, whose time is the policy's updated_at.
 * An unchanged policy is not written. Throws 422 for another cluster_id and for what the class does not have, 409 conflict, and what `changeObject` throws.
 */
export async function setNetworkPolicy(
  deps: Deps,
  capabilities: CapabilitiesReader,
  caller: Caller,
  cluster: ProjectedCluster,
  body: SetNetworkPolicyBody,
  preconditions: Preconditions | undefined,
): Promise<ProjectedCluster> {
  requireUnchanged({ cluster_id: cluster.id }, body);
  const published = await capabilities.readKnown();
  const { object } = await changeObject(deps, caller, clustersOf(cluster.orgId), cluster, {
    action: "network_policy.update",
    preconditions,
    fieldManager: MANAGER_APISERVER_NETWORK,
    plan(current) {
      requireChangeable(current);
      const { network } = current.object.spec;
      const shown = findSentCidrs(current.object);
      const sent = body.authorized_cidrs;
      const patch = replacePolicy(network, body);
      const changed = Object.keys(patch);
      const known = findClusterCapabilities(published, current);
      const [first, ...others] = checkCapabilities(network, patch, known);
      if (first !== undefined) throw validationFailed([first, ...others]);
      if (changed.length === 0 && isDeepStrictEqual(shown, sent)) return { spec: {} };
      return {
        spec: changed.length === 0 ? {} : { network: patch },
        fields: changed.map((field) => `network.${field}`),
        annotations: { [ANNOTATION_NETWORK_REQUEST_ID]: caller.origin.requestId, ...annotateSentCidrs(sent) },
        before: auditNetworkPolicy(shown, network),
        after: auditNetworkPolicy(sent, applyPatch(network, patch)),
      };
    },
  });
  return object;
}
