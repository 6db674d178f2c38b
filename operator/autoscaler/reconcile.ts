import { planApply } from "../../shared/controller/applied.ts";
import { composePlan, type Plan, type Step } from "../../shared/controller/plan.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import {
  deploymentKind,
  roleBindingKind,
  roleKind,
  serviceAccountKind,
} from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { hasFinalizer, isDeleting } from "../identity/identity.ts";
import { chooseAutoscalerImage, composeAutoscaler } from "./children.ts";
import type { ObservedAutoscaler } from "./observe.ts";

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
    apply: [
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
