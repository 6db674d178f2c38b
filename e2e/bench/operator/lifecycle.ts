import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../../shared/kube/client.ts";
import { loadConnection } from "../../../shared/kube/connection.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { createTransport } from "../../../shared/kube/transport.ts";
import { AUDIT_LOG } from "../../platform/stack/management-cluster.ts";
import { startStack } from "../../platform/stack/stack.ts";
import { until } from "../measure.ts";
import { type Figure, report } from "../report.ts";
import { countRequests, endOf } from "./audit.ts";
import { BENCH_DIR } from "./bench-dir.ts";
import { reasonOf } from "./reasons.ts";

const NAME = "lifecycle";
const POOL = "workers";
const BY = { fieldManager: "engineer" };
/** Time after the last step for all requests that it causes. */
const TRAIL_MS = 12_000;

/**
 * The requests of the operator to the API server in the lifecycle of one cluster with a pool of two nodes: created,
 * scaled, upgraded, deleted. Every kind of request has its reason in reasons.ts; one without a reason fails the
 * benchmark.
 */
export async function benchLifecycle(): Promise<void> {
  const dir = join(BENCH_DIR, "lifecycle");
  const stack = await startStack({
    provider: "in-memory",
    dir,
    fresh: true,
    audit: "everybody",
    onCrash: "stop",
  });
  const transport = createTransport({ connection: loadConnection(stack.info.kubeconfig), userAgent: NAME });
  const client = createClient(transport);
  const organization = randomUUID();
  const namespace = `org-${organization}`;
  const auditLog = join(dir, AUDIT_LOG);
  const figures: Figure[] = [];
  const unexplained: string[] = [];

  async function measure(step: string, act: () => Promise<unknown>, holds: () => Promise<boolean>) {
    const from = endOf(auditLog);
    await act();
    await until(step, holds);
    await sleep(TRAIL_MS);
    const counts = await countRequests(auditLog, from);
    console.log(`\n  ${step}`);
    for (const [request, count] of [...counts].sort(([left], [right]) => (left < right ? -1 : 1))) {
      const reason = reasonOf(request);
      if (reason === undefined) unexplained.push(request);
      console.log(`    ${String(count).padStart(4)}  ${request.padEnd(56)} ${reason ?? "NO REASON"}`);
    }
    const total = [...counts].filter(([request]) => !request.includes(" leases.")).map(([, count]) => count);
    figures.push({ name: `${step}: requests`, value: total.reduce((sum, one) => sum + one, 0), unit: "" });
  }

  try {
    const labels = { [LABEL_ORG_ID]: organization };
    await client.create(namespaceKind, { metadata: { name: namespace, labels } }, BY);
    await measure("create", () => createBoth(client, namespace), hasNodes(client, namespace, 2, "1.34"));
    const scaled = { spec: { desiredNodes: 3 } };
    await measure(
      "scale",
      () => client.mergePatch(nodePoolKind, namespace, POOL, scaled, BY),
      hasNodes(client, namespace, 3, "1.34"),
    );
    const upgraded = { spec: { version: "1.35" } };
    await measure(
      "upgrade",
      () => client.mergePatch(clusterKind, namespace, NAME, upgraded, BY),
      hasNodes(client, namespace, 3, "1.35"),
    );
    await measure(
      "delete",
      () => client.delete(clusterKind, namespace, NAME),
      async () => (await client.get(clusterKind, namespace, NAME)) === undefined,
    );
    const nothing = async () => true;
    await measure("a minute of rest", () => sleep(60_000), nothing);
    report("operator lifecycle", figures);
    if (unexplained.length > 0) throw new Error(`requests without a reason: ${unexplained.join(", ")}`);
  } finally {
    await transport.close();
    await stack.stop();
  }
}

async function createBoth(client: KubeClient, namespace: string): Promise<void> {
  await client.create(clusterKind, { metadata: { name: NAME, namespace }, spec: { version: "1.34" } }, BY);
  const size = { vcpus: 2, memoryGB: 4, diskGB: 20, minNodes: 0, maxNodes: 10, desiredNodes: 2 };
  const spec = { clusterName: NAME, ...size };
  await client.create(nodePoolKind, { metadata: { name: POOL, namespace }, spec }, BY);
}

function hasNodes(client: KubeClient, namespace: string, nodes: number, version: string) {
  return async () => {
    const { status } = (await client.get(clusterKind, namespace, NAME)) ?? {};
    const runs = status?.version?.startsWith(`${version}.`) === true;
    return status?.phase === "Ready" && runs && status.nodes?.ready === nodes;
  };
}
