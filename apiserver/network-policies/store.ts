import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_NETWORK_REQUEST_ID, MANAGER_APISERVER_NETWORK } from "../../shared/crd/names.ts";
import type { AuditEntry } from "../audit/index.ts";
import { projectLive, readLive, requireNotDeleting } from "../clusters/store.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { objectTag, requireMatch } from "../http/contract/etag.ts";
import { invalidField } from "../http/errors.ts";
import { patchOnce, requireUnmanaged, retryOvertaken } from "../node-pools/store.ts";
import { type ProjectedCluster, projectObservations } from "../projection/store.ts";
import { type Written, writeWithIntent } from "../write-intents/store.ts";
import { presentSettings } from "./present-policy.ts";
import { applyPatch, type NetworkPatch, replacePolicy } from "./replace-policy.ts";
import { POLICY_WIRE_NAMES, type SetNetworkPolicyBody } from "./schema.ts";

/**
 * Replaces the network policy of a cluster, under a field manager of its own, whose time is the policy's updated_at.
 * What is there already writes nothing. Throws 404, 412 for If-Match, 422 for another cluster_id or what the
 * Kubernetes API refuses, 409 conflict or managed_elsewhere.
 */
export async function setNetworkPolicy(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  body: SetNetworkPolicyBody,
  ifMatch: string | undefined,
): Promise<ProjectedCluster> {
  if (body.cluster_id !== undefined && body.cluster_id !== cluster.id)
    throw invalidField("cluster_id", "immutable", "is the cluster of the path");
  return retryOvertaken("The cluster", async () => {
    const live = await readLive(deps, cluster);
    requireMatch(ifMatch, objectTag(live.metadata));
    const current = projectLive(live, cluster.orgId);
    requireNotDeleting(current);
    const network = replacePolicy(live.spec.network, body);
    if (Object.keys(network).length === 0) return current;
    requireUnmanaged(live.metadata.managedFields, changedFields(network), POLICY_WIRE_NAMES);
    const written = await writeWithIntent(
      deps,
      origin,
      { kind: "Cluster", verb: "change", metadata: live.metadata, entry: toAudit(current, network) },
      () =>
        patchOnce(deps.kube, clusterKind, live, {
          spec: { network },
          requestId: origin.requestId,
          wireNames: POLICY_WIRE_NAMES,
          fieldManager: MANAGER_APISERVER_NETWORK,
          annotations: { [ANNOTATION_NETWORK_REQUEST_ID]: origin.requestId },
        }),
    );
    return written === undefined ? undefined : commit(deps, cluster.orgId, written);
  });
}

function changedFields(network: NetworkPatch) {
  return (Object.keys(network) as (keyof NetworkPatch)[]).map((field) => `network.${field}` as const);
}

function toAudit({ orgId, id, object }: ProjectedCluster, patch: NetworkPatch): AuditEntry {
  const { network } = object.spec;
  return {
    action: "network_policy.update",
    orgId,
    target: { kind: "cluster", id },
    before: presentSettings(network),
    after: presentSettings(applyPatch(network, patch)),
    result: "done",
  };
}

async function commit(
  deps: Deps,
  orgId: string,
  { object, tell }: Written<Cluster>,
): Promise<ProjectedCluster> {
  const after = projectLive(object, orgId);
  await deps.db.transaction(async (tx) => {
    await tell(tx);
    await projectObservations(tx, [{ object: after }]);
  });
  return after;
}
