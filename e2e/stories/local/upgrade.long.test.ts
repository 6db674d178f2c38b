import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { readStack, waitFor } from "../../platform/stack/testing.ts";
import { createRealCluster, describeWorkload, type RealCluster, waitForRunning } from "./real-cluster.ts";

let cluster: RealCluster;

beforeAll(async () => {
  cluster = await createRealCluster(readStack(), "upgrade", { version: "1.34" });
});

afterAll(() => cluster?.remove());

test("an upgrade shows in kubectl version, and a Deployment stays available throughout", async () => {
  expect((await cluster.read("version")).serverVersion.gitVersion).toBe("v1.34.2");
  await cluster.run(["apply", "-f", "-"], describeWorkload("web", 4, "100m", 2));
  await cluster.run(["rollout", "status", "deployment/web", "--timeout=400s"]);

  const samples: number[] = [];
  const problems: string[] = [];
  let done = false;
  onTestFinished(() => {
    done = true;
  });
  const watching = (async () => {
    while (!done) {
      try {
        samples.push((await cluster.read("get", "deployment", "web")).status.availableReplicas ?? 0);
      } catch (error) {
        problems.push(String(error));
      }
      // Each sample is a program that starts.
      await sleep(500);
    }
  })();
  await cluster.patch({ version: "1.35" });
  await waitFor("the cluster to run 1.35", async () => {
    const { body } = await cluster.alice.request("GET", cluster.path);
    return body.status === "running" && body.current_version === "1.35.1";
  });
  done = true;
  await watching;

  expect((await cluster.read("version")).serverVersion.gitVersion).toBe("v1.35.1");
  // The cluster runs the version before the last node of the former one is gone.
  await waitFor("two nodes of the new version, and no others", async () => {
    const { items } = await cluster.read("get", "nodes");
    const versions = items.map(
      (node: { status: { nodeInfo: { kubeletVersion: string } } }) => node.status.nodeInfo.kubeletVersion,
    );
    return versions.join() === "v1.35.1,v1.35.1";
  });
  expect(Math.min(...samples)).toBeGreaterThanOrEqual(2);
  // The API restarts: while it does, kubectl gives up after 10 s each time, but nobody is refused.
  expect(problems.length).toBeLessThan(samples.length);
  expect(problems.filter((one) => /Forbidden|Unauthorized|NotFound|must be logged in/.test(one))).toEqual([]);
  await waitForRunning(cluster.alice, cluster.path, 2);
});
