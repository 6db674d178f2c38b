import type { MetadataChange, Plan, Step } from "../shared/controller/plan.ts";
import type { Cluster, ClusterSpec, ClusterStatus } from "../shared/crd/cluster.ts";
import { API_VERSION } from "../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../shared/crd/node-pool.ts";
import { type ConfigMap, configMapKind } from "../shared/kube/core-kinds.ts";
import { listLostParts } from "./capi/cluster-state.ts";
import { type CapiCluster, type CapiCondition, capiClusterKind } from "./capi/kinds.ts";
import type { ObservedCluster, ObservedClusterPool } from "./cluster/observe.ts";
import { reconcileCluster } from "./cluster/reconcile.ts";
import { decideOwnership } from "./identity/ownership.ts";
import { readAllocation } from "./subnets/allocation.ts";
import {
  CLUSTER_ID,
  capiPoolWith,
  changeMetadata,
  makeClass,
  makeCondition,
  NAMESPACE,
  ORG,
  START,
  settings,
} from "./testing.ts";

/** A new cluster that the operator has not reconciled yet. Each method returns another fixture. */
export function aCluster(spec: Partial<ClusterSpec> = {}): ClusterFixture {
  const cluster: Cluster = {
    apiVersion: API_VERSION,
    kind: "Cluster",
    metadata: {
      name: "demo",
      namespace: NAMESPACE,
      uid: "uid-demo",
      generation: 1,
      resourceVersion: "1",
      // Older than a wait for its pools.
      creationTimestamp: new Date(START.getTime() - 5_000).toISOString(),
    },
    spec: { version: "1.34", publicEndpoint: true, ...spec },
  };
  const observed: ObservedCluster = {
    cluster,
    organization: { kind: "known", id: ORG },
    namespace: { isLabelled: true, isDeleting: false },
    olderDuplicate: undefined,
    blocker: undefined,
    candidateId: CLUSTER_ID,
    pools: [],
    capi: undefined,
    nameTaken: false,
    nameTakenElsewhere: false,
    lostParts: [],
    hasFormerCa: false,
    classes: new Map([["marina-system/standard-v1", makeClass()]]),
    packages: {},
    catalogue: ["1.33.6", "1.34.2", "1.35.1", "1.36.0"].map((version) => ({ version, status: "supported" })),
    subnets: { own: undefined, taken: new Set() },
    probe: undefined,
    infrastructure: undefined,
    addOns: [],
    access: { attempts: { kubeconfig: {}, bindings: {} }, failures: [], tenantFindings: {} },
    applyFailure: undefined,
    upgradeRejection: undefined,
    rejected: new Map(),
    upgradeChecks: [],
    settings,
  };
  return new ClusterFixture(observed, START);
}

/** A pool of which Cluster API has nothing by default. */
export function clusterPoolOf(pool: NodePool, rest: Partial<ObservedClusterPool> = {}): ObservedClusterPool {
  const none = { capiDeleting: false, olderDuplicate: undefined, blocked: false, machines: [] };
  return { pool, machineDeployment: undefined, ...none, ...rest };
}

export class ClusterFixture {
  readonly observed: ObservedCluster;
  readonly now: Date;

  constructor(observed: ObservedCluster, now: Date) {
    this.observed = observed;
    this.now = now;
  }

  with(change: Partial<ObservedCluster>): ClusterFixture {
    return new ClusterFixture({ ...this.observed, ...change }, this.now);
  }

  /** A change of the specification. */
  withSpec(spec: Partial<ClusterSpec>): ClusterFixture {
    const { cluster } = this.observed;
    const metadata = { ...cluster.metadata, generation: (cluster.metadata.generation ?? 0) + 1 };
    return this.with({ cluster: { ...cluster, metadata, spec: { ...cluster.spec, ...spec } } });
  }

  withPools(...pools: NodePool[]): ClusterFixture {
    return this.with({ pools: pools.map((pool) => clusterPoolOf(pool)) });
  }

  deleting(): ClusterFixture {
    const { cluster } = this.observed;
    const metadata = { ...cluster.metadata, deletionTimestamp: this.now.toISOString() };
    return this.with({ cluster: { ...cluster, metadata } });
  }

  after(seconds: number): ClusterFixture {
    return new ClusterFixture(this.observed, new Date(this.now.getTime() + seconds * 1000));
  }

  plan(): Plan<ClusterStatus> {
    return reconcileCluster(this.observed, this.now);
  }

  /** The plan was applied, and the caches show it. */
  reconciled(): ClusterFixture {
    return this.interrupted(Number.POSITIVE_INFINITY);
  }

  /** So many writes of the plan were made, in the order of `applyPlan`, and the caches show them. */
  interrupted(writes: number): ClusterFixture {
    const { metadata, write, remove, status } = this.plan();
    const made: ((fixture: ClusterFixture) => ClusterFixture)[] = [
      ...(metadata === undefined ? [] : [(fixture: ClusterFixture) => fixture.withMetadata(metadata)]),
      ...[...write, ...remove].map((step) => (fixture: ClusterFixture) => fixture.afterStep(step)),
      ...(status === undefined ? [] : [(fixture: ClusterFixture) => fixture.withStatus(status)]),
    ];
    return made.slice(0, writes).reduce<ClusterFixture>((fixture, write) => write(fixture), this);
  }

  private withMetadata(change: MetadataChange): ClusterFixture {
    const { cluster } = this.observed;
    return this.with({ cluster: { ...cluster, metadata: changeMetadata(cluster.metadata, change) } });
  }

  private withStatus(status: ClusterStatus): ClusterFixture {
    return this.with({ cluster: { ...this.observed.cluster, status } });
  }

  private afterStep(step: Step): ClusterFixture {
    if (step.verb === "create") {
      const own = readAllocation(step.object as ConfigMap);
      return this.with({ subnets: { own, taken: new Set(own === undefined ? [] : [own.subnet]) } });
    }
    if (step.verb === "apply" && step.kind === capiClusterKind) {
      const { object } = this.observed.capi ?? {};
      const applied = step.object as CapiCluster;
      const uid = object?.metadata.uid ?? "uid-capi";
      return this.withCapi({ ...object, ...applied, metadata: { ...applied.metadata, uid } });
    }
    if (step.verb === "delete") return this.afterDeletion(step.kind, step.name);
    const { own } = this.observed.subnets;
    if (step.verb === "patch" && step.kind === configMapKind && own !== undefined) {
      const mark = step.operations.find(({ path }) => path === "/data/engine");
      const capiUid = mark?.op === "add" ? String(mark.value) : own.capiUid;
      return this.with({ subnets: { ...this.observed.subnets, own: { ...own, capiUid } } });
    }
    return this;
  }

  /** It is being deleted, and its finalizers keep it. */
  private afterDeletion(kind: Step["kind"], name: string): ClusterFixture {
    const deletionTimestamp = this.now.toISOString();
    if (kind === capiClusterKind) {
      const object = this.capiObject();
      return this.withCapi({ ...object, metadata: { ...object.metadata, deletionTimestamp } });
    }
    if (kind !== nodePoolKind) return this;
    const pools = this.observed.pools.map((one) => {
      const { metadata } = one.pool;
      if (metadata.name !== name) return one;
      return { ...one, pool: { ...one.pool, metadata: { ...metadata, deletionTimestamp } } };
    });
    return this.with({ pools });
  }

  withCapi(object: CapiCluster): ClusterFixture {
    const owned = decideOwnership(this.observed.cluster, object);
    return this.with({
      ...owned,
      lostParts: owned.capi === undefined ? [] : listLostParts(owned.capi.state, this.now),
    });
  }

  /** Cluster API reports these conditions; the specification stays. */
  withCapiConditions(conditions: CapiCondition[], status: CapiCluster["status"] = {}): ClusterFixture {
    const object = this.capiObject();
    const reported = conditions.map((condition) => condition.type);
    const kept = (object.status?.conditions ?? []).filter((condition) => !reported.includes(condition.type));
    return this.withCapi({
      ...object,
      status: { ...object.status, ...status, conditions: [...kept, ...conditions] },
    });
  }

  /** Cluster API has converged, and the endpoint is reachable. */
  capiConverged(): ClusterFixture {
    const object = this.capiObject();
    const version = object.spec?.topology?.version ?? "";
    const up = this.withCapi({
      ...object,
      metadata: { ...object.metadata, generation: 2 },
      spec: { ...object.spec, controlPlaneEndpoint: { host: "api.demo.test", port: 6443 } },
    });
    const converged = up.withCapiConditions(
      [
        makeCondition("ControlPlaneInitialized", "True"),
        makeCondition("ControlPlaneAvailable", "True"),
        makeCondition("RemoteConnectionProbe", "True"),
        makeCondition("Available", "True"),
        makeCondition("TopologyReconciled", "True", { observedGeneration: 2 }),
        makeCondition("RollingOut", "False"),
      ],
      { observedGeneration: 2, controlPlane: { versions: [{ version }] } },
    );
    return converged.with({
      probe: { ok: true, message: "" },
      pools: converged.observed.pools.map(({ pool }) => {
        const counts = { desired: pool.spec.desiredNodes, version: version.slice(1) };
        return clusterPoolOf(pool, { machineDeployment: capiPoolWith(counts) });
      }),
    });
  }

  /** Created, converged, and reconciled by the operator. */
  ready(): ClusterFixture {
    return this.reconciled().capiConverged().reconciled();
  }

  capiObject(): CapiCluster {
    const object = this.observed.capi?.object;
    if (object === undefined) throw new Error("Cluster API has no such cluster in this fixture");
    return object;
  }
}
