import { planApply } from "../../shared/controller/applied.ts";
import { composePlan, type Plan, type Step } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import {
  type Deployment,
  deploymentKind,
  type RbacRole,
  type RoleBinding,
  roleBindingKind,
  roleKind,
  type ServiceAccount,
  serviceAccountKind,
} from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import type { PoolDefaults } from "../capi/worker-pool.ts";
import { hasFinalizer, isDeleting } from "../identity/identity.ts";
import { type AutoscalerPod, chooseAutoscalerImage, composeAutoscaler } from "./children.ts";

export interface AutoscalerSettings {
  /** Undefined = the platform runs no autoscalers. */
  autoscalerImage: string | undefined;
  /** What their Pods have of the platform; undefined = the defaults. */
  autoscalerPod?: AutoscalerPod | undefined;
  poolDefaults: PoolDefaults;
}

/** All that is known about the autoscaler of one cluster when it is reconciled: plain data, no client. */
export interface ObservedAutoscaler {
  cluster: Cluster;
  clusterId: string;
  /** False for a cluster whose name a foreign Cluster API cluster has. */
  hasAutoscaledPool: boolean;
  /** The live objects of the autoscaler. */
  live: {
    serviceAccount: ServiceAccount | undefined;
    role: RbacRole | undefined;
    roleBinding: RoleBinding | undefined;
    deployment: Deployment | undefined;
  };
  /** What the cluster runs, else what it is made with; undefined = not known yet. */
  version: string | undefined;
  /** The version of the Secret with the tenant's kubeconfig; undefined = there is none yet. */
  kubeconfigRevision: string | undefined;
  settings: AutoscalerSettings;
}

/** A cluster with an autoscaled pool gets one autoscaler; it is removed with the last such pool. */
export function reconcileAutoscaler(observed: ObservedAutoscaler): Plan<never> {
  const { cluster, clusterId, live, settings } = observed;
  const { autoscalerImage, autoscalerPod, poolDefaults } = settings;
  const isDesired = observed.hasAutoscaledPool && hasFinalizer(cluster.metadata) && !isDeleting(cluster);
  if (!isDesired || autoscalerImage === undefined) return composePlan({ remove: planRemoval(observed) });
  const image = chooseAutoscalerImage(autoscalerImage, observed.version);
  if (image === undefined) return composePlan();
  const { kubeconfigRevision } = observed;
  const children = composeAutoscaler(cluster, clusterId, {
    image,
    kubeconfigRevision,
    defaults: poolDefaults,
    pod: autoscalerPod,
  });
  return composePlan({
    write: [
      ...planApply(serviceAccountKind, children.serviceAccount, live.serviceAccount),
      ...planApply(roleKind, children.role, live.role),
      ...planApply(roleBindingKind, children.roleBinding, live.roleBinding),
      ...planApply(deploymentKind, children.deployment, live.deployment),
    ],
  });
}

/** The Deployment first: without its permissions it would only fail. */
function planRemoval({ clusterId, live }: ObservedAutoscaler): Step[] {
  const children: [Kind<unknown>, KubeObject | undefined][] = [
    [deploymentKind, live.deployment],
    [roleBindingKind, live.roleBinding],
    [roleKind, live.role],
    [serviceAccountKind, live.serviceAccount],
  ];
  return children.flatMap(([kind, object]): Step[] => {
    if (object?.metadata.labels?.[LABEL_CLUSTER_ID] !== clusterId) return [];
    const { namespace = "", name, uid } = object.metadata;
    return [{ verb: "delete", kind: kind as Kind<KubeObject>, namespace, name, uid }];
  });
}
