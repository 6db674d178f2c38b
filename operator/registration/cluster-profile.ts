import { isDeepStrictEqual } from "node:util";
import { findCondition } from "../../shared/controller/conditions.ts";
import { applyPlan, composePlan, StepError } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { ConditionStatus } from "../../shared/crd/conditions.ts";
import { GROUP, LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf, defineKind, type Kind, type KubeObject } from "../../shared/kube/kind.ts";
import { splitKey } from "../../shared/kube/object.ts";
import type { RunContext } from "../caches.ts";
import { composeOwnerReference } from "../identity/ownership.ts";
import type { RegistrationBasis } from "./secret.ts";

/** A cluster in an inventory of the multicluster SIG (KEP-4322); it holds no credential, but says where one is (KEP-5339). */
export interface ClusterProfile extends KubeObject {
  spec: { displayName?: string; clusterManager: { name: string } };
  status?: {
    version?: { kubernetes?: string };
    conditions?: {
      type: string;
      status: ConditionStatus;
      reason: string;
      message: string;
      lastTransitionTime: string;
    }[];
    accessProviders?: {
      name: string;
      cluster: {
        server: string;
        "certificate-authority-data": string;
        extensions: { name: string; extension: Record<string, string> }[];
      };
    }[];
  };
}

export const clusterProfileKind = defineKind<ClusterProfile>({
  group: "multicluster.x-k8s.io",
  version: "v1alpha1",
  kind: "ClusterProfile",
  plural: "clusterprofiles",
  namespaced: true,
});

/** Its value is the name of the manager, by which consumers filter. */
const LABEL_MANAGER = "x-k8s.io/cluster-manager";

/** The plugin of cluster-inventory-api that reads a kubeconfig from a Secret, and where it reads which one. */
const PROVIDER = "kubeconfig-secretreader";
const EXTENSION = "client.authentication.k8s.io/exec";

/** The ClusterProfile of a cluster, whose kubeconfig is in the Secret with this place, under the key `value`. */
export function composeClusterProfile(
  cluster: Cluster,
  { clusterId, server, caCertificate }: RegistrationBasis,
  secret: { namespace: string; name: string },
): ClusterProfile {
  const { namespace = "", name } = cluster.metadata;
  const { status } = cluster;
  const controlPlane = findCondition(status?.conditions, "ControlPlaneReady");
  const { displayName } = cluster.spec;
  return {
    apiVersion: apiVersionOf(clusterProfileKind),
    kind: clusterProfileKind.kind,
    metadata: {
      namespace,
      name,
      labels: { [LABEL_MANAGER]: GROUP, [LABEL_CLUSTER_ID]: clusterId },
      ownerReferences: [composeOwnerReference(cluster)],
    },
    spec: { ...(displayName !== undefined && { displayName }), clusterManager: { name: GROUP } },
    status: {
      ...(status?.version !== undefined && { version: { kubernetes: status.version } }),
      ...(controlPlane !== undefined && {
        conditions: [
          {
            type: "ControlPlaneHealthy",
            status: controlPlane.status,
            reason: controlPlane.reason,
            message: controlPlane.message,
            lastTransitionTime: controlPlane.lastTransitionTime,
          },
        ],
      }),
      accessProviders: [
        {
          name: PROVIDER,
          cluster: {
            server,
            "certificate-authority-data": Buffer.from(caCertificate).toString("base64"),
            extensions: [{ name: EXTENSION, extension: { ...secret, key: "value" } }],
          },
        },
      ],
    },
  };
}

/** Whether nothing has to be written: labels and owners of others do not count. */
export function isUpToDate(live: ClusterProfile, desired: ClusterProfile): boolean {
  const { labels = {}, ownerReferences = [] } = live.metadata;
  return (
    Object.entries(desired.metadata.labels ?? {}).every(([label, value]) => labels[label] === value) &&
    (desired.metadata.ownerReferences ?? []).every(({ uid }) =>
      ownerReferences.some((owner) => owner.uid === uid),
    ) &&
    isDeepStrictEqual(live.spec, desired.spec) &&
    isDeepStrictEqual(live.status, desired.status)
  );
}

/** The platform's definition of ClusterProfile lacks a field that Marina writes: Kubernetes drops it. */
export class OutdatedDefinitionError extends Error {
  override readonly name = "OutdatedDefinitionError";
}

/**
 * Writes the ClusterProfile with its status unless it is as desired; without `desired` deletes that of this cluster. It
 * is not cached, for few clusters have one. Rejects with a StepError, whose cause is not found without its definition, an
 * OutdatedDefinitionError, or a conflict where another manager has a profile of this name, which stays.
 */
export async function syncClusterProfile(
  client: Pick<KubeClient, "get">,
  key: string,
  desired: ClusterProfile | undefined,
  context: RunContext,
): Promise<void> {
  const { namespace = "", name } = splitKey(key);
  const step = planStep(namespace, name, desired);
  const ofProfiles = { ...context, kind: step.kind };
  try {
    const found = await client.get(clusterProfileKind, namespace, name, { signal: context.signal });
    const isOwn = found?.spec.clusterManager.name === GROUP;
    if (step.verb === "delete") {
      const { uid } = found?.metadata ?? {};
      if (isOwn) await applyPlan(ofProfiles, found, composePlan({ remove: [{ ...step, uid }] }));
      return;
    }
    if (desired === undefined || (isOwn && isUpToDate(found, desired))) return;
    const object = { ...step.object, metadata: { namespace, name } };
    const write = [{ ...step, isNew: !isOwn }];
    await applyPlan(ofProfiles, object, composePlan({ write, status: desired.status }));
    const written = await client.get(clusterProfileKind, namespace, name, { signal: context.signal });
    if (written !== undefined && written.status?.accessProviders === undefined)
      throw new OutdatedDefinitionError("no status.accessProviders");
  } catch (error) {
    const failure = error instanceof StepError ? error : new StepError(step, error);
    const isMissing = failure.cause instanceof KubeError && failure.cause.isNotFound;
    if (desired !== undefined || !isMissing) throw failure;
  }
}

function planStep(namespace: string, name: string, desired: ClusterProfile | undefined) {
  const kind = clusterProfileKind as unknown as Kind<KubeObject>;
  if (desired === undefined) return { verb: "delete", kind, namespace, name, uid: undefined } as const;
  const { status: _, ...object } = desired;
  return { verb: "apply", kind, object } as const;
}
