import type { Plan } from "../../shared/controller/plan.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { DEFAULT_NODES, type NodePoolSpec, type NodePoolStatus } from "../../shared/crd/node-pool.ts";
import type { ManagedFieldsEntry } from "../../shared/kube/kind.ts";
import type { MachineState } from "../capi/pool-state.ts";
import {
  capiPoolWith,
  changeMetadata,
  hashOfPool,
  makeCondition,
  makeMachine,
  makePool,
  ORG,
  POOL_ID,
  START,
  settings,
} from "../testing.ts";
import type { ClusterOfPool, ObservedPool } from "./observe.ts";
import { reconcilePool } from "./reconcile.ts";

export { capiPoolWith, hashOfPool, makeMachine, ORG, POOL_ID } from "../testing.ts";

export const UPGRADING = { upgrading: true, topologyVersion: "1.35.1", controlPlaneInitialized: true };

/**
 * A pool of a cluster whose control plane is not up, which the operator has taken in. Each verb returns another one.
 */
export function aPool(spec: Partial<NodePoolSpec> = {}): PoolFixture {
  const cluster: ClusterOfPool = {
    name: "demo",
    id: "cluster-id",
    deleting: false,
    suspended: false,
    paused: false,
    controlPlaneInitialized: false,
    topologyVersion: "1.34.2",
    upgrading: false,
    firstReadyAt: undefined,
    problem: undefined,
  };
  const observed: ObservedPool = {
    pool: makePool("web", spec),
    organization: { kind: "known", id: ORG },
    namespace: { isLabelled: true, isDeleting: false },
    olderDuplicate: undefined,
    blocker: undefined,
    candidateId: POOL_ID,
    cluster,
    unapplied: undefined,
    machineDeployment: undefined,
    topologyPool: undefined,
    machines: [],
    isOutsideTopology: true,
    lacksCapiCluster: false,
    missedRemediations: new Set(),
    autoscaler: { configured: false, deployment: undefined },
    nodeDegradedAfterSeconds: 300,
    nodeStartupTimeoutSeconds: 900,
    reportWaitAfterSeconds: 55,
    poolDefaults: settings.poolDefaults,
    syncedNodeLabels: /.*/,
  };
  return new PoolFixture(observed, START);
}

export class PoolFixture {
  readonly observed: ObservedPool;
  readonly now: Date;

  constructor(observed: ObservedPool, now: Date) {
    this.observed = observed;
    this.now = now;
  }

  with(change: Partial<ObservedPool>): PoolFixture {
    return new PoolFixture({ ...this.observed, ...change }, this.now);
  }

  /** As its owner made it: the operator has not seen it yet. */
  fresh(): PoolFixture {
    const { labels: _, finalizers: __, annotations: ___, ...metadata } = this.observed.pool.metadata;
    return this.with({ pool: { ...this.observed.pool, metadata } });
  }

  /** A change of the specification. */
  withSpec(spec: Partial<NodePoolSpec>): PoolFixture {
    const { pool } = this.observed;
    const metadata = { ...pool.metadata, generation: (pool.metadata.generation ?? 0) + 1 };
    return this.with({ pool: { ...pool, metadata, spec: { ...pool.spec, ...spec } } });
  }

  /** Who sets the number of nodes, as it is cached. */
  withManagers(managedFields: ManagedFieldsEntry[] = []): PoolFixture {
    const { pool } = this.observed;
    return this.with({ pool: { ...pool, metadata: { ...pool.metadata, managedFields } } });
  }

  /** Its last owner has left the number of nodes out. */
  withReleasedCount(): PoolFixture {
    return this.withManagers([]).withSpec({ desiredNodes: DEFAULT_NODES });
  }

  withoutCluster(): PoolFixture {
    return this.with({ cluster: undefined });
  }

  withCluster(change: Partial<ClusterOfPool>): PoolFixture {
    const { cluster } = this.observed;
    return this.with({ cluster: cluster && { ...cluster, ...change } });
  }

  withCapi(counts: Parameters<typeof capiPoolWith>[0]): PoolFixture {
    return this.withCluster({ controlPlaneInitialized: true }).with({
      machineDeployment: capiPoolWith({ applied: hashOfPool(this.observed.pool.spec), ...counts }),
      isOutsideTopology: false,
    });
  }

  withNodes(nodes: number): PoolFixture {
    return this.withCapi({ desired: nodes });
  }

  withUnhealthyNode(): PoolFixture {
    const lastTransitionTime = this.now.toISOString();
    const health = { reason: "NodeNotHealthy", lastTransitionTime };
    const machine = makeMachine("unhealthy", { conditions: [makeCondition("NodeHealthy", "False", health)] });
    return this.with({ machines: [machine] });
  }

  withMachine(machine: Partial<MachineState>): PoolFixture {
    return this.with({ machines: [{ ...makeMachine("odd"), ...machine }] });
  }

  deleting(): PoolFixture {
    const { pool } = this.observed;
    const metadata = { ...pool.metadata, deletionTimestamp: this.now.toISOString() };
    return this.with({ pool: { ...pool, metadata } });
  }

  after(seconds: number): PoolFixture {
    return new PoolFixture(this.observed, new Date(this.now.getTime() + seconds * 1000));
  }

  plan(): Plan<NodePoolStatus> {
    return reconcilePool(this.observed, this.now);
  }

  condition(type: string) {
    return this.plan().status?.conditions?.find((it) => it.type === type);
  }

  /** The plan was carried out, and the caches show it. */
  reconciled(): PoolFixture {
    const plan = this.plan();
    const { pool } = this.observed;
    const metadata = changeMetadata(
      { ...pool.metadata, labels: { [LABEL_ID]: POOL_ID, ...pool.metadata.labels } },
      plan.metadata,
    );
    const status = plan.status ?? pool.status;
    return this.with({ pool: { ...pool, metadata, ...(status && { status }) } });
  }

  status(): NodePoolStatus | undefined {
    return this.observed.pool.status;
  }
}
