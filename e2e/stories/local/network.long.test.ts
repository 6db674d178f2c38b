import { readFile } from "node:fs/promises";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { readStack, waitFor } from "../../platform/stack/testing.ts";
import { createRealCluster, type RealCluster } from "./real-cluster.ts";

let cluster: RealCluster;
let port: number;

beforeAll(async () => {
  cluster = await createRealCluster(readStack(), "network", { nodes: 1 });
  const config = parse(await readFile(cluster.kubeconfig, "utf8"));
  port = Number(new URL(config.clusters[0].cluster.server).port);
});

afterAll(() => cluster?.remove());

/** "open" once TLS is up from this source address, else "dropped". */
function knock(localAddress: string): Promise<"open" | "dropped"> {
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", port, localAddress, rejectUnauthorized: false };
    const socket = connectTls(options, () => {
      resolve("open");
      socket.destroy();
    });
    socket.once("error", () => resolve("dropped"));
    socket.once("close", () => resolve("dropped"));
  });
}

/** Changes the list, and waits until the condition says of this very specification that it is in force. */
async function allow(authorizedCIDRs: string[] | null): Promise<void> {
  await cluster.patch({ network: { authorizedCIDRs } });
  await waitFor("the network policy to be in force", async () => {
    const [{ metadata, status }] = (await cluster.getManaged("cloud.marina.dev/v1", "clusters")).items;
    const policy = status.conditions.find(({ type }: { type: string }) => type === "NetworkPolicyApplied");
    return policy.status === "True" && policy.observedGeneration === metadata.generation;
  });
}

test("without a list every source may connect", async () => {
  expect(await knock("127.0.0.2")).toBe("open");
});

test("once NetworkPolicyApplied is True of a list, a refused address is dropped, a listed one and the platform pass; once it is without it, all pass again", async () => {
  onTestFinished(() => cluster.patch({ network: { authorizedCIDRs: null } }));
  await allow(["127.0.0.3/32"]);
  expect(await knock("127.0.0.2")).toBe("dropped");
  expect(await knock("127.0.0.3")).toBe("open");
  expect(await knock("127.0.0.1")).toBe("open");
  await allow(null);
  expect(await knock("127.0.0.2")).toBe("open");
});

test("with a rate limit the burst passes and the rest is limited, but never the platform", async () => {
  onTestFinished(() => cluster.patch({ network: { apiServerRateLimit: null } }));
  await cluster.patch({ network: { apiServerRateLimit: { maxConnectionsPerSecond: 1, burst: 5 } } });
  const flood = async (source: string) => {
    const results = await Promise.all(Array.from({ length: 20 }, () => knock(source)));
    return results.filter((result) => result === "open").length;
  };
  await waitFor("the limit to apply", async () => (await flood("127.0.0.2")) < 20);
  // The bucket refills in six seconds.
  const startedAt = Date.now();
  await waitFor("the bucket to be full", () => Date.now() - startedAt > 6000);
  const floodedAt = Date.now();
  const passed = await flood("127.0.0.2");
  const refilled = Math.ceil((Date.now() - floodedAt) / 1000);
  expect(passed).toBeGreaterThanOrEqual(5);
  expect(passed).toBeLessThanOrEqual(5 + refilled);
  expect(await flood("127.0.0.1")).toBe(20);
});

test("only the platform reaches a private cluster", async () => {
  const closed = await createRealCluster(readStack(), "private", {
    nodes: 0,
    body: { public_endpoint: false },
  });
  try {
    const server = parse(await readFile(closed.kubeconfig, "utf8")).clusters[0].cluster.server;
    port = Number(new URL(server).port);
    expect(await knock("127.0.0.2")).toBe("dropped");
    expect(await knock("127.0.0.1")).toBe("open");
    await closed.run(["get", "namespaces"]);
  } finally {
    await closed.remove();
  }
});
