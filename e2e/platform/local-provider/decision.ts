import { isDeepStrictEqual } from "node:util";
import type { ConditionLike, NewCondition } from "../../../shared/controller/conditions.ts";
import { setConditions } from "../../../shared/controller/conditions.ts";
import type { Plan } from "../../../shared/controller/plan.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";

export const FIELD_MANAGER = "marina-local-provider";

/** On everything that leaves something behind outside of the Kubernetes API. */
export const FINALIZER = "local.marina.dev/provider";

/** The result of a reconcile: first the steps on this machine, then the plan for the Kubernetes API. */
export interface Decision<Status, Effect> {
  effects: Effect[];
  plan: Plan<Status>;
}

/** A decision with the given parts; everything else is empty. */
export function decide<Status, Effect>(
  plan: Partial<Plan<Status>> = {},
  effects: Effect[] = [],
): Decision<Status, Effect> {
  return {
    effects,
    plan: {
      metadata: undefined,
      write: [],
      remove: [],
      status: undefined,
      events: [],
      releaseFinalizer: false,
      requeueAfterMs: undefined,
      ...plan,
    },
  };
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Whether the object carries the pause annotation, which every Cluster API provider honours. */
export function isPaused({ metadata }: KubeObject): boolean {
  return metadata.annotations?.["cluster.x-k8s.io/paused"] !== undefined;
}

export function hasFinalizer(object: KubeObject): boolean {
  return object.metadata.finalizers?.includes(FINALIZER) ?? false;
}

type WithConditions = { conditions?: ConditionLike[] | undefined };

/** The status with transition times set; undefined when the object already has it. */
export function nextStatus<Status extends WithConditions>(
  object: KubeObject & { status?: Status },
  fields: Omit<Status, "conditions">,
  conditions: readonly NewCondition<string>[],
  now: Date,
): Status | undefined {
  const generation = object.metadata.generation ?? 0;
  const timed = setConditions(object.status?.conditions ?? [], conditions, now, generation);
  const status = { ...fields, conditions: timed } as Status;
  return isDeepStrictEqual(JSON.parse(JSON.stringify(status)), object.status) ? undefined : status;
}

/** The only condition of most kinds. */
export function readyCondition(reason: string, message = "", ready = true): NewCondition<"Ready"> {
  return { type: "Ready", status: ready ? "True" : "False", reason, message };
}
