import { test as base } from "vitest";
import { buildBundles } from "../../build.ts";
import { leaseKind } from "../../shared/kube/core-kinds.ts";
import { PLATFORM_NAMESPACE } from "../platform/stack/marina.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { type ApiProxy, openApiProxy } from "./api-proxy.ts";
import { type OperatorProcess, startOperator } from "./operator-process.ts";
import { simulateClusterApi } from "./simulated-cluster-api.ts";

/** A real API server with Cluster API's kinds but without its managers, which are simulated in tenths of a second. */
export interface BareStack {
  stack: Stack;
  proxy: ApiProxy;
  /** Starts an operator behind the proxy, which becomes leader immediately. */
  startOperator(settings?: Record<string, string>): Promise<OperatorProcess>;
  /** Creates an organization, with a simulated Cluster API in it. `tolerated` as in createEngineer. */
  openOrganization(options?: { tolerated?: RegExp }): Promise<Organization>;
  stop(): Promise<void>;
}

export interface Organization {
  engineer: Engineer;
  close(): Promise<void>;
}

const LEASE = "marina-operator";

/** Tests on one bare stack, which the first file of the project `bare` starts, and which ends after the last one. */
export const test = base
  .extend("dir", { scope: "worker" }, ".marina/bare")
  .extend("bareStack", { scope: "worker" }, async ({ dir }, { onCleanup }) => {
    const bare = await startBareStack(dir);
    onCleanup(() => bare.stop());
    return bare;
  });

export async function startBareStack(dir: string): Promise<BareStack> {
  await buildBundles();
  const stack = await startStack({
    provider: "in-memory",
    dir,
    fresh: true,
    parts: "infrastructure",
    withoutManagers: true,
    onCrash: "report",
  });
  const proxy = await openApiProxy(stack.info, "proxy");
  const cleaner = await createEngineer(stack.info);
  const running: OperatorProcess[] = [];
  return {
    stack,
    proxy,
    async startOperator(settings = {}) {
      // The previous holder was killed: without this the new operator waits for its Lease to expire.
      await cleaner.client.delete(leaseKind, PLATFORM_NAMESPACE, LEASE);
      const all = { KUBECONFIG: proxy.kubeconfig, MARINA_METRICS_PORT: "0", ...settings };
      const operator = startOperator(stack.info, "operator", all);
      running.push(operator);
      return operator;
    },
    async openOrganization(options = {}) {
      const engineer = await createEngineer(stack.info, undefined, options);
      const simulation = simulateClusterApi(engineer.client, proxy.kubeconfig, engineer.namespace);
      return {
        engineer,
        async close() {
          await simulation.stop();
          await engineer.close();
        },
      };
    },
    async stop() {
      for (const operator of running) await operator.signal("SIGKILL");
      await proxy.close();
      await cleaner.close();
      await stack.stop();
    },
  };
}
