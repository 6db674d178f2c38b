import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { CAPABILITIES_CONFIG_MAP, CAPABILITIES_KEY } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { CacheSet, Caches, RunContext } from "../caches.ts";
import { enqueueTo } from "../caches.ts";
import { probeGates } from "../capi/required.ts";
import { decideCapabilities, type Installation } from "./decide.ts";

/** The only key of the controller of capabilities. */
export const CAPABILITIES = "capabilities";

/** Cluster API does not show which feature gates it has: they change with its own installation. */
const RECHECK_AFTER_MS = 600_000;

export interface CapabilitiesDeps {
  caches: Pick<Caches, "capabilities" | "readClasses" | "readPackages">;
  client: Pick<KubeClient, "create">;
  settings: Installation["settings"] & { platformNamespace: string };
}

/**
 * Publishes what the cluster classes can do in the ConfigMap that Marina's API server reads, unless it is as it should be.
 * Rejects with a KubeError.
 */
export async function publishCapabilities(
  { caches, client, settings }: CapabilitiesDeps,
  context: RunContext,
): Promise<ReconcileResult> {
  const { fieldManager, signal } = context;
  const namespace = settings.platformNamespace;
  const gates = await probeGates(client, { namespace, fieldManager, signal });
  const capabilities = decideCapabilities({
    settings,
    packages: caches.readPackages(),
    classes: caches.readClasses(),
    takesTaints: gates.taints,
  });
  const text = JSON.stringify(capabilities);
  const [live] = caches.capabilities.list();
  if (live?.data?.[CAPABILITIES_KEY] !== text) {
    const metadata = { name: CAPABILITIES_CONFIG_MAP, namespace };
    const desired = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { [CAPABILITIES_KEY]: text } };
    await context.client.apply(configMapKind, desired, { fieldManager, force: true, signal });
  }
  return { requeueAfterMs: RECHECK_AFTER_MS };
}

/**
 * Publishes the capabilities again when a package or anything of a class changes, its status included, which has the variables of
 * its extensions, or when another client writes what is published.
 */
export function watchCapabilities(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  cacheSet.listen("clusterClasses", (change) => add(CAPABILITIES, change));
  cacheSet.listen("packages", (change) => add(CAPABILITIES, change));
  cacheSet.listen("capabilities", (change) => add(CAPABILITIES, change));
}
