import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { capiClusterKind, clusterClassKind } from "./custom-resources.ts";

const BY_HAND = { fieldManager: "test" };

/** The API server that simulates a tenant's: its address and its CA (PEM). */
export function readPlayedServer(stack: Pick<StackInfo, "kubeconfig">): {
  server: string;
  caCertificate: string;
} {
  const { server } = parse(readFileSync(stack.kubeconfig, "utf8")).clusters[0].cluster;
  return { server, caCertificate: readCertificate(stack, "ca.crt") };
}

/**
 * Creates a cluster whose API server is the management cluster's own, because in-memory API servers accept everyone.
 * Its Cluster API object is created by hand and paused, so that Cluster API ignores it; everything else is the real
 * product. With `server`, an address of https, that is taken for its API server instead. Returns the cluster's public
 * id.
 */
export async function createSimulatedTenant(
  stack: Pick<StackInfo, "kubeconfig">,
  { client, namespace }: { client: KubeClient; namespace: string },
  name: string,
  server = readPlayedServer(stack).server,
): Promise<string> {
  const id = randomUUID();
  const [clusterClass] = await client.listAll(clusterClassKind, { namespace: "marina-system" });
  const { hostname: host, port } = new URL(server);
  const metadata = { name, namespace, labels: { [LABEL_ID]: id } };
  await client.create(
    capiClusterKind,
    {
      metadata,
      spec: {
        paused: true,
        controlPlaneEndpoint: { host, port: Number(port) },
        topology: {
          classRef: { name: clusterClass?.metadata.name ?? "", namespace: "marina-system" },
          version: "v1.34.2",
          controlPlane: { replicas: 1 },
        },
      },
    },
    BY_HAND,
  );
  const status = {
    conditions: ["ControlPlaneInitialized", "ControlPlaneAvailable"].map((type) => ({
      type,
      status: "True",
      reason: type,
      message: "",
      lastTransitionTime: new Date().toISOString(),
    })),
  };
  const patch = { ...BY_HAND, subresource: "status" as const };
  await client.mergePatch(capiClusterKind, namespace, name, { status }, patch);
  await client.create(
    secretKind,
    {
      metadata: { name: `${name}-ca`, namespace, labels: { "cluster.x-k8s.io/cluster-name": name } },
      type: "cluster.x-k8s.io/secret",
      data: {
        "tls.crt": toBase64(readCertificate(stack, "ca.crt")),
        "tls.key": toBase64(readCertificate(stack, "ca.key")),
      },
    },
    BY_HAND,
  );
  await client.create(clusterKind, { metadata, spec: { version: "1.34.2" } }, BY_HAND);
  return id;
}

/** Says that a simulated cluster was ready: its Cluster API object is paused, so that it never becomes so by itself. */
export async function markReady(
  { client, namespace }: { client: KubeClient; namespace: string },
  name: string,
): Promise<void> {
  const status = { firstReadyAt: new Date().toISOString() };
  await client.mergePatch(clusterKind, namespace, name, { status }, { ...BY_HAND, subresource: "status" });
}

function readCertificate({ kubeconfig }: Pick<StackInfo, "kubeconfig">, file: string): string {
  return readFileSync(join(dirname(kubeconfig), "certificates", file), "utf8");
}

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}
