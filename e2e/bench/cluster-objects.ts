import { randomUUID } from "node:crypto";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { createTenant } from "../testing/tenant.ts";

export const FIELD_MANAGER = "engineer";
const WRITERS = 32;

/** Creates it by REST, which creates its Namespace too. */
export async function createOrganization({ info }: Stack, name: string): Promise<string> {
  const alice = createTenant(info.apiUrl, info.tokens.alice);
  const { body } = await alice.request<{ id: string }>("POST", "/organizations", { name });
  return body.id;
}

export interface Fleet {
  orgId: string;
  namespace: string;
  clusters: readonly { id: string; name: string }[];
}

/** Creates running clusters of one organization, with the status that the operator would have written. */
export async function createFleet(client: KubeClient, orgId: string, count: number): Promise<Fleet> {
  const namespace = `org-${orgId}`;
  const by = { fieldManager: FIELD_MANAGER };
  const clusters = Array.from({ length: count }, (_, n) => ({ id: randomUUID(), name: `c-${n}` }));
  const left = clusters.values();
  const create = async () => {
    for (const { id, name } of left) {
      const metadata = { name, namespace, labels: { [LABEL_ID]: id } };
      await client.create(clusterKind, { metadata, spec: { version: "1.34.2" } }, by);
      const status = { ...by, subresource: "status" as const };
      await client.mergePatch(clusterKind, namespace, name, { status: STATUS }, status);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, create));
  return { orgId, namespace, clusters };
}

const SINCE = "2026-11-21T09:00:00Z";
const STATUS = {
  observedGeneration: 1,
  phase: "Ready",
  version: "1.34.2",
  apiServerURL: "https://192.0.2.1:6443",
  workerSubnet: "10.1.0.0/24",
  firstReadyAt: SINCE,
  nodes: { total: 3, ready: 3 },
  nodePools: { total: 1, ready: 1 },
  transitions: [{ sequence: 1, type: "Ready", at: SINCE, version: "1.34.2" }],
  conditions: ["Ready", "ControlPlaneReady", "WorkersReady"].map((type) => ({
    type,
    status: "True",
    reason: "Available",
    message: "",
    lastTransitionTime: SINCE,
    observedGeneration: 1,
  })),
};
