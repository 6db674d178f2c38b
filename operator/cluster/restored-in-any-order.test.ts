import { expect, test } from "vitest";

import { ANNOTATION_IDENTITY, LABEL_ID } from "../../shared/crd/names.ts";
import { CLUSTER_ID, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { stepsOf, topologyOf } from "./testing-plan.ts";

const before = aCluster().withPools(makePool("web")).ready().reconciled();
const noSubnets = { own: undefined, taken: new Set<string>() };

/** The restored cluster, whose id Marina's API server knows, beside nothing else of the backup. */
function restoredAlone(subnets: ClusterFixture["observed"]["subnets"]): ClusterFixture {
  const { cluster } = aCluster().observed;
  const metadata = {
    ...cluster.metadata,
    uid: "uid-new",
    labels: { [LABEL_ID]: CLUSTER_ID },
    annotations: { [ANNOTATION_IDENTITY]: "known uid-new" },
  };
  return aCluster().with({ cluster: { ...cluster, metadata }, subnets, probe: { ok: true, message: "" } });
}

const PARTS: Record<string, (fixture: ClusterFixture) => ClusterFixture> = {
  "Cluster API's cluster": (fixture) => {
    const object = before.capiObject();
    const metadata = { ...object.metadata, uid: "uid-restored", ownerReferences: [] };
    return fixture.withCapi({ ...object, metadata });
  },
  "the node pools": (fixture) => fixture.with({ pools: before.observed.pools }),
  Marina: (fixture) => fixture,
};

const orders = Object.keys(PARTS).flatMap((first) =>
  Object.keys(PARTS)
    .filter((second) => second !== first)
    .map((second) => [
      first,
      second,
      ...Object.keys(PARTS).filter((third) => third !== first && third !== second),
    ]),
);

test.each(
  orders.flatMap((order) => [
    { when: "11 minutes, with its allocation", order, subnets: before.observed.subnets },
    { when: "31 days, without its allocation", order, subnets: noSubnets },
  ]),
)(
  "what is restored after $when in the order $order is adopted: nothing is made twice, no node goes, the subnet is the same",
  ({ order, subnets }) => {
    let fixture = restoredAlone(subnets);
    let isThere = false;
    const madeAgain: string[] = [];
    const poolsApplied = new Set(["web"]);
    for (const part of order) {
      fixture = PARTS[part]?.(fixture) ?? fixture;
      isThere ||= part === "Marina";
      // Several reconciles between the parts, and more than any wait.
      for (let run = 0; isThere && run < 4; run++) {
        const plan = fixture.plan();
        const isAbsent = fixture.observed.capi === undefined;
        madeAgain.push(...stepsOf(plan).filter((step) => isAbsent && step === "apply clusters"));
        expect(stepsOf(plan).filter((step) => step.startsWith("delete"))).toEqual([]);
        const topology = topologyOf(plan);
        const pools = topology?.workers?.machineDeployments?.map(({ name }) => name) ?? [];
        if (topology !== undefined) poolsApplied.add(pools.join(" "));
        fixture = fixture.reconciled().after(120);
      }
    }
    expect([madeAgain, [...poolsApplied]]).toEqual([[], ["web"]]);
    const { cluster, capi, subnets: end } = fixture.observed;
    const subnet = before.observed.cluster.status?.workerSubnet;
    expect(cluster.status).toMatchObject({ phase: "Ready", workerSubnet: subnet });
    expect(capi?.object.metadata.ownerReferences).toMatchObject([{ uid: "uid-new" }]);
    expect(end.own).toMatchObject({ subnet, capiUid: "uid-restored" });
  },
);
