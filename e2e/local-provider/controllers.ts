import type { ControllerMetrics } from "../../shared/controller/controller.ts";
import { type Controller, createController } from "../../shared/controller/controller.ts";
import { applyPlan } from "../../shared/controller/plan.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import type { Store } from "../../shared/kube/store.ts";
import { reconcileBootstrap } from "./bootstrap/reconcile.ts";
import { reconcileCluster } from "./cluster/reconcile.ts";
import { applyClusterEffect, observeCluster } from "./cluster/run.ts";
import { type Context, findTenant } from "./context.ts";
import { reconcileControlPlane } from "./control-plane/reconcile.ts";
import { applyControlPlaneEffect, FIELD_MANAGER, observeControlPlane } from "./control-plane/run.ts";
import { type Decision, decide, FINALIZER, isPaused } from "./decision.ts";
import { findOwnerName } from "./engine-kinds.ts";
import { localBootstrapKind, localClusterKind, localControlPlaneKind, localMachineKind } from "./kinds.ts";
import { reconcileMachine } from "./machine/reconcile.ts";
import { applyMachineEffect, observeMachine } from "./machine/run.ts";
import type { Tenant } from "./tenant.ts";

/** How the objects of one kind are brought to where they should be. */
interface Loop<T extends KubeObject, Status, Effect> {
  kind: Kind<T>;
  store: Store<T>;
  workers: number;
  /** undefined: Cluster API has not labelled it yet. */
  decide(object: T): Promise<Decision<Status, Effect> | undefined>;
  act(object: T, tenant: Tenant, effect: Effect): Promise<void>;
}

export interface Controllers {
  clusters: Controller;
  controlPlanes: Controller;
  machines: Controller;
  bootstraps: Controller;
  all: readonly Controller[];
}

/** The first effect that fails ends it. */
async function attempt<Effect>(
  effects: readonly Effect[],
  act: (effect: Effect) => Promise<void>,
): Promise<{ error: unknown } | undefined> {
  try {
    for (const effect of effects) await act(effect);
    return undefined;
  } catch (error) {
    return { error };
  }
}

function run<T extends KubeObject, Status, Effect>(
  context: Context,
  metrics: ControllerMetrics,
  loop: Loop<T, Status, Effect>,
): Controller {
  const { kind, store } = loop;
  const controller = createController({
    name: kind.plural,
    workers: loop.workers,
    isLeader: () => true,
    resyncKeys: () => store.keys(),
    log: context.log,
    metrics,
    async reconcile(key, signal) {
      const object = store.get(key);
      if (object === undefined || isPaused(object)) return undefined;
      const decision = await loop.decide(object);
      if (decision === undefined) return undefined;
      const { effects, plan } = decision;
      const tenant = findTenant(object);
      // The finalizer comes before anything that would be left behind without it.
      const canAct = tenant !== undefined && plan.metadata?.finalizer === undefined;
      const failure = canAct
        ? await attempt(effects, (effect) => loop.act(object, tenant, effect))
        : undefined;
      const onWritten = (written: Kind<unknown>, resourceVersion: string): void => {
        if (written.plural === kind.plural) controller.expect(key, store, resourceVersion);
      };
      const managers = { fieldManager: FIELD_MANAGER, statusFieldManager: `${FIELD_MANAGER}-status` };
      const { client, recorder } = context;
      await applyPlan(
        { client, kind, recorder, finalizer: FINALIZER, ...managers, onWritten, signal },
        object,
        // What was decided to follow the effects must not come before them; the status says why they fail.
        failure === undefined ? plan : decide<Status, Effect>({ status: plan.status }).plan,
      );
      if (failure !== undefined) throw failure.error;
      return plan.requeueAfterMs === undefined ? undefined : { requeueAfterMs: plan.requeueAfterMs };
    },
  });
  return controller;
}

/** One controller per kind. */
export function createControllers(context: Context, metrics: ControllerMetrics): Controllers {
  const { stores } = context;
  const clusters = run(context, metrics, {
    kind: localClusterKind,
    store: stores.clusters,
    workers: 4,
    async decide(object) {
      const observed = await observeCluster(context, object);
      return observed && reconcileCluster(observed);
    },
    act: (_object, tenant, effect) => applyClusterEffect(context, tenant, effect),
  });
  const controlPlanes = run(context, metrics, {
    kind: localControlPlaneKind,
    store: stores.controlPlanes,
    // A probe waits up to 2 s for an apiserver that starts: 20 of them must not hold each other up.
    workers: 24,
    async decide(object) {
      const observed = await observeControlPlane(context, object);
      return observed && reconcileControlPlane(observed);
    },
    act: (object, tenant, effect) => applyControlPlaneEffect(context, object, tenant, effect),
  });
  const machines = run(context, metrics, {
    kind: localMachineKind,
    store: stores.machines,
    workers: 8,
    async decide(object) {
      const observed = await observeMachine(context, object);
      return observed && reconcileMachine(observed);
    },
    act: (_object, tenant, effect) => applyMachineEffect(context, tenant, effect),
  });
  const bootstraps = run(context, metrics, {
    kind: localBootstrapKind,
    store: stores.bootstraps,
    workers: 4,
    decide: async (object) =>
      reconcileBootstrap({ object, ownerName: findOwnerName(object.metadata, "Machine"), now: new Date() }),
    act: async () => {},
  });
  return {
    clusters,
    controlPlanes,
    machines,
    bootstraps,
    all: [clusters, controlPlanes, machines, bootstraps],
  };
}
