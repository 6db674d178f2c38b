import { expect, test } from "vitest";
import { localControlPlaneKind } from "../platform/local-provider/kinds.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import {
  conditionOf,
  createEngineer,
  machineKind,
  sample,
  statusOf,
  waitForCluster,
} from "../testing/custom-resources.ts";

const CONTROL_PLANES = `${localControlPlaneKind.plural}.${localControlPlaneKind.group}`;

test("an upgrade goes one minor at a time, control plane first, and the cluster serves throughout", async () => {
  const engineer = await createEngineer(readStack());
  const { client, namespace } = engineer;
  const annotateControlPlane = (annotation: string) =>
    kubectl(["annotate", CONTROL_PLANES, "--all", annotation, `--namespace=${namespace}`]);
  await engineer.createCluster("old", { version: "1.34" });
  await engineer.createPool("front", "old", { desiredNodes: 1 });
  await engineer.createPool("back", "old", { desiredNodes: 1 });
  // The cluster may be ready before its pools are created.
  for (const name of ["front", "back"]) {
    await waitFor(
      `the first node of ${name}`,
      async () => (await engineer.getPool(name)).status?.readyNodes === 1,
    );
  }
  const before = await waitForCluster(engineer, "old");
  expect(before.status).toMatchObject({ version: "1.34.2", targetVersion: "1.34.2" });

  await expect(engineer.patchCluster("old", { spec: { version: "1.36" } })).rejects.toThrow(/minor/);
  await expect(engineer.patchCluster("old", { spec: { version: "1.33" } })).rejects.toThrow(/older/);
  await engineer.patchCluster("old", { spec: { version: "1.35.9" } });
  const refused = await waitFor("the refusal of a version that the catalogue lacks", async () => {
    const cluster = await engineer.getCluster("old");
    return statusOf(cluster, "Stalled") === "True" ? cluster : undefined;
  });
  expect(conditionOf(refused, "Stalled")?.reason).toBe("UnknownVersion");
  expect(refused.status?.message).toMatch(/no Kubernetes version 1\.35\.9.*1\.35\.1/);
  expect(refused.status?.phase).toBe("Ready");

  const samples = sample(async () => {
    const cluster = await engineer.getCluster("old");
    const { phase, version } = cluster.status ?? {};
    return { ready: statusOf(cluster, "Ready"), phase, version };
  });
  await engineer.patchPool("front", { spec: { desiredNodes: 2 } });
  await waitFor("a pool to scale although the version is refused", async () => {
    const pool = await engineer.getPool("front");
    return pool.status?.readyNodes === 2 && pool.status.phase === "Ready";
  });

  // The upgrade of the control plane lasts until the pool has been seen to wait for it.
  await annotateControlPlane("cluster.x-k8s.io/paused=true");
  await engineer.patchCluster("old", { spec: { version: "1.35" } });
  const waitForTurn = (type: string) =>
    waitFor(`the other pool to say of ${type} that it waits for its turn`, async () => {
      const { reason, status } = conditionOf(await engineer.getPool("back"), type) ?? {};
      return reason === "UpgradeInProgress" && status === "True";
    });
  await waitForTurn("Reconciling");
  await engineer.patchPool("back", { spec: { desiredNodes: 2 } });
  await waitForTurn("Scaling");
  await annotateControlPlane("cluster.x-k8s.io/paused-");
  await waitFor("the upgrade to complete", async () => {
    const cluster = await engineer.getCluster("old");
    const { phase, version, nodes } = cluster.status ?? {};
    if (phase === "Ready" && version === "1.35.1" && nodes?.ready === 4) return cluster;
    throw new Error(`${phase} ${version}: ${conditionOf(cluster, "Reconciling")?.message}`);
  });
  const seen = await samples.stop();
  expect(seen.filter(({ ready }) => ready !== "True")).toEqual([]);
  expect([...new Set(seen.map(({ version }) => version))]).toEqual(["1.34.2", "1.35.1"]);
  // The cluster is of the new version before the last machine of the former one is gone.
  await waitFor("machines of the new version alone", async () => {
    const machines = await client.listAll(machineKind, { namespace });
    return machines.length === 4 && machines.every(({ spec }) => spec.version === "v1.35.1");
  });
  const after = await engineer.getCluster("old");
  expect(after.status?.transitions).toMatchObject([
    { sequence: 1, type: "Ready", version: "1.34.2" },
    { sequence: 2, type: "Upgraded", version: "1.35.1", previousVersion: "1.34.2" },
  ]);
  for (const name of ["front", "back"]) {
    await waitFor(`${name} to be ready with the new version`, async () => {
      const { status } = await engineer.getPool(name);
      return status?.version === "1.35.1" && status.phase === "Ready";
    });
  }
  await waitFor("the Events of the upgrade", async () => {
    const reasons = (await engineer.listEvents("old")).map(({ reason }) => reason);
    return ["UnknownVersion", "Upgrading", "Upgraded"].every((reason) => reasons.includes(reason));
  });
  await engineer.close();
});
