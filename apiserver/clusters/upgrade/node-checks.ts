import { z } from "zod";
import {
  defineTenantKind,
  listAllPages,
  type TenantClient,
  tenantName,
} from "../../../shared/tenant/tenant-client.ts";
import type { UpgradeCheck } from "../../node-pools/index.ts";

const nodeKind = defineTenantKind(
  { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false },
  z.object({
    metadata: z.object({ name: tenantName }),
    status: z.object({ nodeInfo: z.object({ kubeletVersion: z.string() }) }),
  }),
);

/** Each with the version of its kubelet. */
export function listNodes(client: Pick<TenantClient, "listPage">) {
  return listAllPages(client, nodeKind);
}

/** Of a kubelet behind the API server: https://kubernetes.io/releases/version-skew-policy/#kubelet */
const MAX_MINORS_BEHIND = 3;

/** What stands behind the patch is of the vendor, as in v1.34.2+k3s1. */
const VERSION = /^v?(\d{1,4})\.(\d{1,4})\./;

/**
 * The nodes whose kubelets an API server of `target` does not support: too old ones block, newer ones do not become worse
 * by the upgrade.
 */
export async function* readSkewChecks(
  client: Pick<TenantClient, "listPage">,
  target: string,
): AsyncGenerator<UpgradeCheck> {
  const wanted = toMinors(target);
  for (const { metadata, status } of await listNodes(client)) {
    const version = toMinors(status.nodeInfo.kubeletVersion);
    const check = findSkew(version, wanted);
    if (check !== undefined)
      yield { ...check, object: { kind: "Node", namespace: null, name: metadata.name } };
  }
}

type Minors = { text: string; major: number; minor: number } | undefined;

function toMinors(version: string): Minors {
  const [, major, minor] = VERSION.exec(version) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { text: `${major}.${minor}`, major: Number(major), minor: Number(minor) };
}

function findSkew(kubelet: Minors, target: Minors): Omit<UpgradeCheck, "object"> | undefined {
  if (kubelet === undefined || target === undefined)
    return {
      check: "unknown",
      severity: "warning",
      message: "Its kubelet names a version that is none of Kubernetes.",
      fix: "Look whether it works with the new version before you upgrade.",
    };
  const behind = target.major === kubelet.major ? target.minor - kubelet.minor : target.major - kubelet.major;
  if (target.major === kubelet.major && behind >= 0 && behind <= MAX_MINORS_BEHIND) return undefined;
  if (behind < 0)
    return {
      check: "version_skew",
      severity: "warning",
      message: `Its kubelet ${kubelet.text} is newer than Kubernetes ${target.text}: an API server supports no newer one.`,
      fix: "Replace the node by one of the version of its node pool.",
    };
  return {
    check: "version_skew",
    severity: "blocking",
    message: `Its kubelet ${kubelet.text} is too old for Kubernetes ${target.text}: an API server supports kubelets of at most ${MAX_MINORS_BEHIND} minor versions before its own.`,
    fix: "Replace the node, or let its node pool come to the present version of the cluster, before you upgrade.",
  };
}
