import {
  type Controller,
  type ControllerMetrics,
  createController,
} from "../../../shared/controller/controller.ts";
import { SOLE_LEADER } from "../../../shared/controller/lease.ts";
import { applyPlan } from "../../../shared/controller/plan.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import type { Store } from "../../../shared/kube/store.ts";
import { type Context, findTenant } from "./context.ts";
import { type Decision, decide, FIELD_MANAGER, FINALIZER, isPaused } from "./decision.ts";
import type { Tenant } from "./tenant.ts";

/** The controller of one kind: observe, reconcile (pure), then perform the effects and apply the plan. */
export interface KindController<T extends KubeObject, Observed, Status, Effect> {
  kind: Kind<T>;
  store: Store<T>;
  workers: number;
  /** undefined: Cluster API has not labelled the object yet. */
  observe(context: Context, object: T): Promise<Observed | undefined>;
  reconcile(observed: Observed): Decision<Status, Effect>;
  /** Performs one step on this machine; absent for a kind without any. */
  perform?(context: Context, object: T, tenant: Tenant, effect: Effect): Promise<void>;
}

/** Performs the effects in order, up to the first that fails; returns its error. */
async function performAll<Effect>(
  effects: readonly Effect[],
  perform: (effect: Effect) => Promise<void> | undefined,
): Promise<{ error: unknown } | undefined> {
  try {
    for (const effect of effects) await perform(effect);
    return undefined;
  } catch (error) {
    return { error };
  }
}

export function createKindController<T extends KubeObject, Observed, Status, Effect>(
  context: Context,
  metrics: ControllerMetrics,
  options: KindController<T, Observed, Status, Effect>,
): Controller {
  const { kind, store } = options;
  const managers = { fieldManager: FIELD_MANAGER, statusFieldManager: `${FIELD_MANAGER}-status` };
  const { client, recorder, log } = context;
  const controller = createController({
    name: kind.plural,
    workers: options.workers,
    leadership: SOLE_LEADER,
    resyncKeys: () => store.keys(),
    log,
    metrics,
    async reconcile(key, signal) {
      const object = store.get(key);
      if (object === undefined || isPaused(object)) return undefined;
      const observed = await options.observe(context, object);
      if (observed === undefined) return undefined;
      const { effects, plan } = options.reconcile(observed);
      const tenant = findTenant(object);
      // The finalizer comes before anything that would be left behind without it.
      const mayPerform = tenant !== undefined && plan.metadata?.finalizer === undefined;
      const failure = mayPerform
        ? await performAll(effects, (effect) => options.perform?.(context, object, tenant, effect))
        : undefined;
      const onWritten = (written: Kind<unknown>, resourceVersion: string): void => {
        if (written.plural === kind.plural) controller.expect(key, store, resourceVersion);
      };
      await applyPlan(
        { client, kind, recorder, finalizer: FINALIZER, ...managers, onWritten, signal },
        object,
        // Everything else in the plan depends on the effects; the status carries the error.
        failure === undefined ? plan : decide<Status, Effect>({ status: plan.status }).plan,
      );
      if (failure !== undefined) throw failure.error;
      return plan.requeueAfterMs === undefined ? undefined : { requeueAfterMs: plan.requeueAfterMs };
    },
  });
  return controller;
}
