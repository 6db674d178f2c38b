import { MANAGER_OPERATOR, PACKAGES_CONFIG_MAP, PACKAGES_KEY } from "../../shared/crd/names.ts";
import { packagesSchema } from "../../shared/crd/packages.ts";
import { requireOwnKinds } from "../../shared/crd/required.ts";
import { createClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { requireKinds } from "../../shared/kube/required-kinds.ts";
import { requireServerVersion } from "../../shared/kube/server-version.ts";
import type { Transport } from "../../shared/kube/transport.ts";
import { ExplainedError } from "../../shared/program/errors.ts";
import { createLogger } from "../../shared/program/log.ts";
import { decideCapabilities } from "../capabilities/decide.ts";
import { readClusterClass } from "../capi/cluster-class.ts";
import { clusterClassKind } from "../capi/kinds.ts";
import { probeGates } from "../capi/probe-gates.ts";
import { CAPI } from "../capi/required.ts";
import type { Config } from "../config.ts";
import { type Check, checkAutoscaler, checkGates, checkNetworks, checkPlans } from "./checks.ts";

/**
 * What an installation needs and has, in the order in which to mend it: Kubernetes, the kinds of Marina and Cluster API, its
 * gates, the classes of the plans, and the configuration. Changes nothing. Rejects with a KubeError when the Kubernetes API
 * does not answer.
 */
export async function checkInstallation(
  transport: Transport,
  { settings }: Pick<Config, "settings">,
): Promise<Check[]> {
  const client = createClient(transport);
  const log = createLogger({ name: "preflight", level: "silent" });
  const namespace = settings.platformNamespace;
  const published = await client.get(configMapKind, namespace, PACKAGES_CONFIG_MAP);
  const kubernetes = await explain("kubernetes", "The version of the management cluster is supported.", () =>
    requireServerVersion(transport, log),
  );
  const kinds = await explain("kinds", "Marina's and Cluster API's definitions have all fields.", () =>
    requireKinds(transport, [requireOwnKinds(), CAPI], log),
  );
  const configured = [checkAutoscaler(settings.autoscalerImage), checkNetworks(settings.platformCIDRs)];
  if (kinds.state !== "ok") return [kubernetes, kinds, ...configured];
  const { signal } = new AbortController();
  const gates = await probeGates(client, { namespace, fieldManager: MANAGER_OPERATOR, signal });
  const classes = await client.listAll(clusterClassKind);
  const capabilities = decideCapabilities({
    settings,
    packages: packagesSchema.safeParse(JSON.parse(published?.data?.[PACKAGES_KEY] ?? "{}")).data ?? {},
    classes: new Map(classes.map((one) => [objectKey(one), readClusterClass(one)])),
    takesTaints: gates.taints,
  });
  return [kubernetes, kinds, ...checkGates(gates), ...checkPlans(capabilities), ...configured];
}

async function explain(about: string, text: string, check: () => Promise<void>): Promise<Check> {
  try {
    await check();
    return { state: "ok", about, text };
  } catch (error) {
    if (error instanceof ExplainedError) return { state: "failed", about, text: error.message };
    if (error instanceof KubeError) return { state: "failed", about, text: `${error.kubeMessage}.` };
    throw error;
  }
}
