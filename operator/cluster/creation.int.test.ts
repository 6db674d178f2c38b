import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { localClusterKind } from "../../e2e/platform/local-provider/kinds.ts";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import {
  capiClusterKind,
  conditionOf,
  createEngineer,
  machineHealthCheckKind,
  statusOf,
} from "../../e2e/testing/custom-resources.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";

/** Writes of a status in a creation: at its edges, and on a slow machine one more for each 20 s. */
const AT_EDGES = 6;
const DETAILS_EVERY_MS = 20_000;

const engineer = setUp(() => createEngineer(readStack()));

test("the creation of a cluster with a pool of one node writes the status of each at its edges only", async () => {
  const { history } = engineer;
  const begunAt = Date.now();
  await engineer.createCluster("counted", {});
  await engineer.createPool("workers", "counted", {});
  await waitFor("both to settle", async () => {
    const both = [await engineer.getCluster("counted"), await engineer.getPool("workers")];
    return both.every((it) => statusOf(it, "Ready") === "True" && statusOf(it, "Reconciling") === "False");
  });
  const allowed = AT_EDGES + Math.floor((Date.now() - begunAt) / DETAILS_EVERY_MS);
  for (const name of ["counted", "workers"]) {
    const statuses = history.of(name).map(({ status }) => status);
    const writes = statuses.slice(1).filter((status, index) => !isDeepStrictEqual(status, statuses[index]));
    expect(writes.length).toBeGreaterThan(1);
    expect(writes.length).toBeLessThanOrEqual(allowed);
  }
});

test("authorized CIDRs are in force once the provider's object has them, and are not said to be before", async () => {
  const { client, history, namespace } = engineer;
  const list = "127.0.0.0/8";
  const patch = { spec: { network: { authorizedCIDRs: [list] } } };
  const { generation } = (await engineer.patchCluster("counted", patch)).metadata;
  const provided = await waitFor("the provider's object to have the list", async () => {
    const { name } = (await client.get(capiClusterKind, namespace, "counted")).spec.infrastructureRef;
    const found = await client.get(localClusterKind, namespace, name);
    return found?.spec.authorizedCIDRs?.includes(list) ? found : undefined;
  });
  const isInForce = (cluster: Cluster) => {
    const condition = conditionOf(cluster, "NetworkPolicyApplied");
    return condition?.status === "True" && condition.observedGeneration === generation;
  };
  const said = await waitFor("the list to be in force", async () =>
    history.of("counted").find((state) => isInForce(state as Cluster)),
  );
  // Both kinds are in one etcd, whose revisions count every write.
  expect(Number(said.metadata.resourceVersion)).toBeGreaterThan(Number(provided.metadata.resourceVersion));
});

test.each([1, 6])("Cluster API replaces two fifths of %i nodes, each has the class's time", async (nodes) => {
  const { client, namespace } = engineer;
  await engineer.patchPool("workers", { spec: { desiredNodes: nodes } });
  const triggerIf = { unhealthyLessThanOrEqualTo: Math.max(1, Math.floor(nodes * 0.4)) };
  const spec = { checks: { nodeStartupTimeoutSeconds: 900 }, remediation: { triggerIf } };
  await expect.poll(() => client.listAll(machineHealthCheckKind, { namespace })).toMatchObject([{ spec }]);
});
