import { readFileSync } from "node:fs";
import type { Agent } from "node:https";
import { messageOf } from "../../../shared/program/errors.ts";
import { StartError } from "../programs/start-error.ts";
import { createKubeApi, type KubeApi, type KubeTarget } from "./kube-api.ts";

/** A management cluster outside the stack. */
export interface ExistingCluster {
  kube: KubeApi;
  clusterClass: { namespace: string; name: string };
}

const CLASSES_PATH = "/apis/cluster.x-k8s.io/v1beta2/clusterclasses";

async function loadTarget(kubeconfig: string): Promise<KubeTarget> {
  // Loaded on demand: it takes most of a second, which the embedded cluster does not need.
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    config.loadFromString(readFileSync(kubeconfig, "utf8"));
  } catch (error) {
    throw new StartError(
      `KUBECONFIG=${kubeconfig} cannot be read (${messageOf(error)}): correct or unset KUBECONFIG.`,
    );
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new StartError(`KUBECONFIG=${kubeconfig} has no current context: set one.`);
  const options: ConstructorParameters<typeof Agent>[0] = {};
  await config.applyToHTTPSOptions(options);
  const { agent: _agent, ...tls } = options as typeof options & { agent?: unknown };
  return { server: cluster.server, tls };
}

async function chooseClass(kube: KubeApi, kubeconfig: string): Promise<ExistingCluster["clusterClass"]> {
  const response = await kube.request("GET", CLASSES_PATH).catch((error: unknown) => {
    throw new StartError(`The cluster of KUBECONFIG=${kubeconfig} does not respond (${messageOf(error)}).`);
  });
  if (response.status === 404) {
    throw new StartError(
      "The cluster of KUBECONFIG does not serve cluster.x-k8s.io/v1beta2: install Cluster API 1.11 or newer there with ClusterTopology on (clusterctl init).",
    );
  }
  if (response.status !== 200)
    throw new StartError(`The cluster refuses ${CLASSES_PATH}: ${String(response.body.message)}`);
  const items = response.body.items as { metadata: { namespace: string; name: string } }[];
  const [first] = items;
  if (first === undefined) {
    throw new StartError(
      "The cluster of KUBECONFIG has no ClusterClass: apply one, clusters are created from it.",
    );
  }
  const wanted = process.env.MARINA_CLUSTER_CLASS;
  if (wanted === undefined) return { namespace: first.metadata.namespace, name: first.metadata.name };
  const found = items.find((one) => `${one.metadata.namespace}/${one.metadata.name}` === wanted);
  if (found === undefined)
    throw new StartError(`The cluster has no ClusterClass MARINA_CLUSTER_CLASS=${wanted}.`);
  return { namespace: found.metadata.namespace, name: found.metadata.name };
}

/**
 * Opens the cluster of a kubeconfig and checks that it has Cluster API v1beta2 and a ClusterClass; the class is
 * MARINA_CLUSTER_CLASS (namespace/name) or the first one. Throws a StartError that says what is missing.
 */
export async function openExistingCluster(kubeconfig: string): Promise<ExistingCluster> {
  const kube = createKubeApi(await loadTarget(kubeconfig));
  return { kube, clusterClass: await chooseClass(kube, kubeconfig) };
}
