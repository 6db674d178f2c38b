import type { Plan, Step } from "../shared/controller/plan.ts";
import type { Cluster, ClusterSpec, ClusterStatus } from "../shared/crd/cluster.ts";
import { API_VERSION, FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../shared/crd/names.ts";
import type { NodePool, NodePoolSpec } from "../shared/crd/node-pool.ts";
import type { ConfigMap } from "../shared/kube/core-kinds.ts";
import type { ObjectMeta } from "../shared/kube/kind.ts";
import type { ClusterSettings, ObservedCluster } from "./cluster/observe.ts";
import { reconcileCluster } from "./cluster/reconcile.ts";
import { readClusterClass } from "./engine/cluster-class.ts";
import { readEngineCluster } from "./engine/cluster-state.ts";
import {
  type EngineCluster,
  type EngineCondition,
  engineClusterKind,
  type Machine,
  REGISTRATION_FINALIZERS,
} from "./engine/kinds.ts";
import { type EnginePoolState, readMachine, readPool } from "./engine/pool-state.ts";
import { parseSubnetRange } from "./subnets/allocate.ts";
import { readLock } from "./subnets/lock.ts";

export const START = new Date("2026-01-01T00:00:00Z");
export const ORG = "0193a0f0-0000-7000-8000-0000000000aa";
export const NAMESPACE = `org-${ORG}`;
export const CLUSTER_ID = "0193a0f0-0000-7000-8000-0000000000c1";
export const POOL_ID = "0193a0f0-0000-7000-8000-0000000000b1";

const ALL_VARIABLES = [
  "plan",
  "publicEndpoint",
  "authorizedCIDRs",
  "apiServerRateLimit",
  "workerSubnet",
  "machine",
];

export const settings: ClusterSettings = {
  platformNamespace: "marina-system",
  plans: {
    default: { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 1 },
    production: { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 3 },
  },
  subnetRange: parseSubnetRange("10.64.0.0/10"),
  platformCIDRs: ["192.0.2.0/24"],
  poolDefaults: { drainTimeoutSeconds: 600, scaleDownDelaySeconds: 600, scaleDownUtilizationPercent: 50 },
  degradedAfterSeconds: 60,
  nodeDegradedAfterSeconds: 300,
};

export function makeClass(variables: string[] = ALL_VARIABLES, kubernetesVersions: string[] = []) {
  return readClusterClass({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "ClusterClass",
    metadata: { name: "standard-v1", namespace: "marina-system" },
    spec: {
      variables: variables.map((name) => ({ name })),
      workers: { machineDeployments: [{ class: "default" }] },
      kubernetesVersions,
    },
  });
}

export function makePool(
  name: string,
  spec: Partial<NodePoolSpec> = {},
  metadata: Partial<ObjectMeta> = {},
): NodePool {
  return {
    apiVersion: API_VERSION,
    kind: "NodePool",
    metadata: {
      name,
      namespace: NAMESPACE,
      uid: `uid-${name}`,
      generation: 1,
      resourceVersion: "1",
      creationTimestamp: START.toISOString(),
      finalizers: [FINALIZER],
      labels: { [LABEL_ID]: POOL_ID, [LABEL_ORG_ID]: ORG },
      ...metadata,
    },
    spec: {
      clusterName: "demo",
      vcpus: 2,
      memoryGB: 4,
      diskGB: 20,
      minNodes: 0,
      maxNodes: 10,
      desiredNodes: 2,
      ...spec,
    },
  };
}

export function makeCondition(
  type: string,
  status: EngineCondition["status"],
  more: Partial<EngineCondition> = {},
) {
  return { type, status, reason: "Seen", lastTransitionTime: START.toISOString(), ...more };
}

/** What Cluster API says of a pool whose nodes are all there. */
export function enginePoolWith(counts: {
  desired: number;
  nodes?: number;
  ready?: number;
  rollingOut?: boolean;
  version?: string;
}): EnginePoolState {
  const { desired, nodes = desired, ready = nodes, rollingOut = false, version = "1.34.2" } = counts;
  return readPool({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "MachineDeployment",
    metadata: {
      name: "demo-web-x",
      namespace: NAMESPACE,
      generation: 3,
      finalizers: REGISTRATION_FINALIZERS,
    },
    spec: { replicas: desired },
    status: {
      observedGeneration: 3,
      replicas: nodes,
      readyReplicas: ready,
      upToDateReplicas: nodes,
      versions: [{ version: `v${version}` }],
      conditions: [makeCondition("RollingOut", rollingOut ? "True" : "False")],
    },
  });
}

export function makeMachine(name: string, status: Machine["status"] = {}) {
  return readMachine({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Machine",
    metadata: { name, namespace: NAMESPACE, uid: `uid-${name}`, creationTimestamp: START.toISOString() },
    spec: { version: "v1.34.2" },
    status: { phase: "Running", nodeRef: { name: `node-${name}` }, ...status },
  });
}

/** A cluster as somebody asked for it, of which the operator has done nothing yet. Each verb returns another fixture. */
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
      creationTimestamp: new Date(START.getTime() - 2_000).toISOString(),
    },
    spec: { version: "1.34", publicEndpoint: true, ...spec },
  };
  const observed: ObservedCluster = {
    cluster,
    organization: { kind: "known", id: ORG },
    olderDuplicate: undefined,
    blocker: undefined,
    candidateId: CLUSTER_ID,
    pools: [],
    engine: undefined,
    classes: new Map([["marina-system/standard-v1", makeClass()]]),
    catalogue: ["1.33.6", "1.34.2", "1.35.1", "1.36.0"].map((version) => ({ version, status: "supported" })),
    locks: { own: undefined, taken: new Set() },
    probe: undefined,
    applyFailure: undefined,
    upgradeRejection: undefined,
    settings,
  };
  return new ClusterFixture(observed, START);
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

  /** The owner changes the specification. */
  asking(spec: Partial<ClusterSpec>): ClusterFixture {
    const { cluster } = this.observed;
    const metadata = { ...cluster.metadata, generation: (cluster.metadata.generation ?? 0) + 1 };
    return this.with({ cluster: { ...cluster, metadata, spec: { ...cluster.spec, ...spec } } });
  }

  withPools(...pools: NodePool[]): ClusterFixture {
    return this.with({
      pools: pools.map((pool) => ({
        pool,
        engine: undefined,
        engineDeleting: false,
        olderDuplicate: undefined,
        blocked: false,
        machines: [],
      })),
    });
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

  /** The plan was carried out, and the caches show it. */
  reconciled(): ClusterFixture {
    const plan = this.plan();
    const { cluster } = this.observed;
    const { labels, finalizer } = plan.metadata ?? {};
    const metadata = {
      ...cluster.metadata,
      labels: { ...cluster.metadata.labels, ...labels },
      finalizers: [...(cluster.metadata.finalizers ?? []), ...(finalizer === undefined ? [] : [finalizer])],
    };
    const status = plan.status ?? cluster.status;
    const changed = this.with({ cluster: { ...cluster, metadata, ...(status && { status }) } });
    return [...plan.apply, ...plan.remove].reduce((fixture, step) => fixture.afterStep(step), changed);
  }

  private afterStep(step: Step): ClusterFixture {
    if (step.verb === "create") {
      const own = readLock(step.object as ConfigMap);
      return this.with({ locks: { own, taken: new Set(own === undefined ? [] : [own.subnet]) } });
    }
    if (step.verb === "apply" && step.kind === engineClusterKind) {
      return this.withEngine({ ...this.observed.engine?.object, ...(step.object as EngineCluster) });
    }
    return this;
  }

  withEngine(object: EngineCluster): ClusterFixture {
    return this.with({ engine: { object, state: readEngineCluster(object) } });
  }

  /** Cluster API changes what it says; the specification stays. */
  engineSaying(conditions: EngineCondition[], status: EngineCluster["status"] = {}): ClusterFixture {
    const object = this.engineObject();
    const said = conditions.map((condition) => condition.type);
    const kept = (object.status?.conditions ?? []).filter((condition) => !said.includes(condition.type));
    return this.withEngine({
      ...object,
      status: { ...object.status, ...status, conditions: [...kept, ...conditions] },
    });
  }

  /** Cluster API has done all it was asked for, and the endpoint answers. */
  engineDone(): ClusterFixture {
    const object = this.engineObject();
    const version = object.spec?.topology?.version ?? "";
    const up = this.withEngine({
      ...object,
      metadata: { ...object.metadata, generation: 2 },
      spec: { ...object.spec, controlPlaneEndpoint: { host: "api.demo.test", port: 6443 } },
    });
    const converged = up.engineSaying(
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
      pools: converged.observed.pools.map(({ pool }) => ({
        pool,
        engine: enginePoolWith({ desired: pool.spec.desiredNodes, version: version.slice(1) }),
        engineDeleting: false,
        olderDuplicate: undefined,
        blocked: false,
        machines: [],
      })),
    });
  }

  /** Made, done, and seen so by the operator. */
  ready(): ClusterFixture {
    return this.reconciled().engineDone().reconciled();
  }

  engineObject(): EngineCluster {
    const object = this.observed.engine?.object;
    if (object === undefined) throw new Error("Cluster API has no such cluster in this fixture");
    return object;
  }
}
