import type { Controller, ControllerMetrics } from "../../../shared/controller/controller.ts";
import { observeBootstrap } from "./bootstrap/observe.ts";
import { reconcileBootstrap } from "./bootstrap/reconcile.ts";
import { applyClusterEffect } from "./cluster/effects.ts";
import { observeCluster } from "./cluster/observe.ts";
import { reconcileCluster } from "./cluster/reconcile.ts";
import type { Context } from "./context.ts";
import { applyControlPlaneEffect } from "./control-plane/effects.ts";
import { observeControlPlane } from "./control-plane/observe.ts";
import { reconcileControlPlane } from "./control-plane/reconcile.ts";
import { createKindController } from "./controller.ts";
import { localBootstrapKind, localClusterKind, localControlPlaneKind, localMachineKind } from "./kinds.ts";
import { applyMachineEffect } from "./machine/effects.ts";
import { observeMachine } from "./machine/observe.ts";
import { reconcileMachine } from "./machine/reconcile.ts";

export interface Controllers {
  clusters: Controller;
  controlPlanes: Controller;
  machines: Controller;
  bootstraps: Controller;
  all: readonly Controller[];
}

/** One controller per kind. */
export function createControllers(context: Context, metrics: ControllerMetrics): Controllers {
  const { stores } = context;
  const clusters = createKindController(context, metrics, {
    kind: localClusterKind,
    store: stores.clusters,
    workers: 4,
    observe: observeCluster,
    reconcile: reconcileCluster,
    perform: applyClusterEffect,
  });
  const controlPlanes = createKindController(context, metrics, {
    kind: localControlPlaneKind,
    store: stores.controlPlanes,
    // A probe waits up to 2 s for an apiserver that is starting: 20 of them must not block each other.
    workers: 24,
    observe: observeControlPlane,
    reconcile: reconcileControlPlane,
    perform: applyControlPlaneEffect,
  });
  const machines = createKindController(context, metrics, {
    kind: localMachineKind,
    store: stores.machines,
    workers: 8,
    observe: observeMachine,
    reconcile: reconcileMachine,
    perform: applyMachineEffect,
  });
  const bootstraps = createKindController(context, metrics, {
    kind: localBootstrapKind,
    store: stores.bootstraps,
    workers: 4,
    observe: observeBootstrap,
    reconcile: reconcileBootstrap,
  });
  return {
    clusters,
    controlPlanes,
    machines,
    bootstraps,
    all: [clusters, controlPlanes, machines, bootstraps],
  };
}
