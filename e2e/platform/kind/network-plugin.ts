import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LABEL_CLUSTER_ID } from "../../../shared/crd/names.ts";
import { fetchGoModule } from "../stack/go-module.ts";
import type { Manifest } from "../stack/kube-api.ts";
import { GO_MODULE_DIR } from "../stack/tools.ts";

const NAME = "network-plugin";
/** The chart's default of `networks.pods`. */
const POD_NETWORK = "192.168.0.0/16";
const PLACE_OF_NETWORK = /\$\{DOCKER_POD_CIDRS\},\$\{DOCKER_POD_IPV6_CIDRS\}/;

/**
 * The manifests of kindnet as Cluster API's own tests install it, for the networks of pods that Marina gives clusters.
 */
export async function readNetworkPlugin(): Promise<string> {
  const module = await fetchGoModule(GO_MODULE_DIR, "sigs.k8s.io/cluster-api/test");
  const file = join(module, "e2e", "data", "cni", "kindnet", "kindnet.yaml");
  const text = readFileSync(file, "utf8").replace(PLACE_OF_NETWORK, POD_NETWORK);
  if (text.includes("${")) throw new Error(`${file} has variables that are not known here`);
  return text;
}

/** Makes Cluster API install the network plugin in every cluster of Marina in the namespace. */
export function composeNetworkPlugin(namespace: string, manifests: string): Manifest[] {
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: NAME },
      data: { "kindnet.yaml": manifests },
    },
    {
      apiVersion: "addons.cluster.x-k8s.io/v1beta2",
      kind: "ClusterResourceSet",
      metadata: { namespace, name: NAME },
      spec: {
        clusterSelector: { matchExpressions: [{ key: LABEL_CLUSTER_ID, operator: "Exists" }] },
        resources: [{ kind: "ConfigMap", name: NAME }],
        strategy: "ApplyOnce",
      },
    },
  ];
}
