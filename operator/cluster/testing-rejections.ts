import { KubeError } from "../../shared/kube/errors.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import { makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { findUpgradeStep, reconcileCluster } from "./reconcile.ts";
import { addRejected } from "./rejections.ts";

export type Topology = NonNullable<NonNullable<CapiCluster["spec"]>["topology"]>;
type Cause = { field?: string; message: string };

/** What Cluster API, played here, rejects of a topology; undefined = nothing. */
export type Validate = (sent: Topology, live: Topology) => Cause | undefined;

export const poolsOf = (topology: Topology) => topology.workers?.machineDeployments ?? [];
export const variableOf = (topology: Topology, name: string) =>
  topology.variables?.find((variable) => variable.name === name)?.value;
export const machineOf = (topology: Topology, pool: string) =>
  poolsOf(topology)
    .find(({ name }) => name === pool)
    ?.variables?.overrides.find(({ name }) => name === "machine")?.value;

function rejection({ field, message }: Cause): KubeError {
  const details = field === undefined ? {} : { causes: [{ reason: "FieldValueInvalid", field, message }] };
  const kubeMessage = `admission webhook "validation.cluster.x-k8s.io" denied the request: Cluster "demo" is invalid: ${message}`;
  return new KubeError({ status: 422, reason: "Invalid", kubeMessage, details });
}

/** Reconciles until Cluster API takes what is sent, as runCluster does; the last plan, and what was applied. */
export function settle({ observed, now }: ClusterFixture, validate: Validate) {
  const live = observed.capi?.object.spec?.topology;
  let current = observed;
  for (let pass = 0; pass < 10; pass++) {
    const plan = reconcileCluster(current, now);
    const step = plan.write.find((one) => one.verb === "apply");
    const sent = step?.verb === "apply" ? (step.object as CapiCluster) : undefined;
    const topology = sent?.spec?.topology;
    const cause = topology && live && validate(topology, live);
    if (sent === undefined || topology === undefined || cause === undefined)
      return { plan, applied: topology ?? live, passes: pass + 1 };
    const error = rejection(cause);
    const failure = { kind: "rejected", message: error.kubeMessage, cause: error } as const;
    const isUpgrade = findUpgradeStep(observed, plan.write) !== undefined;
    const kept = addRejected(current, { sent, isUpgrade }, failure);
    current = { ...current, ...(kept ?? { applyFailure: failure }) };
  }
  throw new Error("it does not settle");
}

export const CIDRS = ["203.0.113.0/24", "198.51.100.0/24"];
export const WEB = makePool("web");
const GPU = makePool("gpu");
const GOING = makePool("going");
/** A cluster that runs, with three pools and a list of networks. */
export const running = aCluster({ network: { authorizedCIDRs: CIDRS } })
  .withPools(WEB, GPU, GOING)
  .ready();

/** The pools are changed, their state in Cluster API stays. */
export function changePools(
  fixture: ClusterFixture,
  change: Record<string, Partial<typeof WEB.spec> | "deleted">,
) {
  return fixture.with({
    pools: fixture.observed.pools.map((one) => {
      const asked = change[one.pool.metadata.name];
      if (asked === undefined) return one;
      const { metadata, spec } = one.pool;
      const deleted = { ...metadata, deletionTimestamp: fixture.now.toISOString() };
      return asked === "deleted"
        ? { ...one, pool: { ...one.pool, metadata: deleted } }
        : { ...one, pool: { ...one.pool, metadata, spec: { ...spec, ...asked } } };
    }),
  });
}

export const SIZE = { vcpus: 3, memoryGB: 7 };
export const SENTENCE = "no machine type has these vCPUs and this memory: on offer are 2 vCPUs with 4 GB";
export const sizeCause = (key: string) => ({
  field: `spec.topology.workers.machineDeployments[${key}].variables.overrides[machine].value`,
  message: `Invalid value: "{\\"vcpus\\":3,\\"memoryGB\\":7}": ${SENTENCE}`,
});
export const rejectsSize =
  (pool: string, key = pool): Validate =>
  (sent) =>
    (machineOf(sent, pool) as { vcpus?: number } | undefined)?.vcpus === 3 ? sizeCause(key) : undefined;
export const SHORTER = { network: { authorizedCIDRs: CIDRS.slice(0, 1) } };
export const actions: Record<
  string,
  { act: (fixture: ClusterFixture) => ClusterFixture; seen: (topology: Topology) => unknown; is: unknown }
> = {
  "another pool is scaled": {
    act: (fixture) => changePools(fixture, { web: { desiredNodes: 7 } }),
    seen: (topology) => poolsOf(topology).find(({ name }) => name === "web")?.replicas,
    is: 7,
  },
  "a pool is deleted": {
    act: (fixture) => changePools(fixture, { going: "deleted" }),
    seen: (topology) => poolsOf(topology).some(({ name }) => name === "going"),
    is: false,
  },
  "the list of networks is shortened": {
    act: (fixture) => fixture.withSpec(SHORTER),
    seen: (topology) => (variableOf(topology, "authorizedCIDRs") as string[]).includes(CIDRS[1] ?? ""),
    is: false,
  },
  "the cluster is upgraded": {
    act: (fixture) => fixture.withSpec({ version: "1.35" }),
    seen: (topology) => topology.version,
    is: "v1.35.1",
  },
};

/** The status says first that a list of networks is not in force any more, then it is sent. */
export function settleWhole(fixture: ClusterFixture, validate: Validate) {
  const { plan } = settle(fixture, validate);
  const status = plan.status ?? fixture.observed.cluster.status;
  const cluster = { ...fixture.observed.cluster, ...(status && { status }) };
  return { status, ...settle(fixture.with({ cluster }), validate) };
}
