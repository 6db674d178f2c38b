import { expect, test } from "vitest";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import {
  conditionOf,
  createEngineer,
  machineKind,
  sample,
  statusOf,
  waitForCluster,
} from "../testing/custom-resources.ts";

test("an upgrade goes one minor at a time, control plane first, and the cluster serves throughout", async () => {
  const engineer = await createEngineer(readStack());
  const { client, namespace } = engineer;
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

  // Both changes are known before the upgrade begins, so that it cannot end before the pool has to wait.
  await engineer.patchCluster("old", { spec: { version: "1.35", suspend: true } });
  await engineer.patchPool("back", { spec: { desiredNodes: 2 } });
  await waitFor(
    "both changes to be known",
    async () => conditionOf(await engineer.getPool("back"), "Scaling")?.reason === "Suspended",
  );
  await engineer.patchCluster("old", { spec: { suspend: null } });
  const waiting = await waitFor("the other pool to wait for its turn", () =>
    engineer.history
      .of("back")
      .map((pool) => conditionOf(pool, "Scaling"))
      .find((condition) => condition?.reason === "UpgradeInProgress"),
  );
  expect(waiting.status).toBe("True");
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
