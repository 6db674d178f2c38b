import { z } from "zod";
import { defineTenantKind, listAllPages, type TenantClient, tenantName } from "../tenant-client.ts";
import type { Finding, UpgradeCheck } from "./upgrade-check.ts";

/** A whole node is some ten KiB, of which most are the names of images. */
const nodeKind = defineTenantKind(
  { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false },
  z.object({
    metadata: z.object({ name: tenantName }),
    columns: z.object({ Version: z.string().max(256), Status: z.string().max(256) }),
  }),
  { asTable: true },
);

export interface TenantNode {
  name: string;
  /** The version of its kubelet. */
  version: string;
  /** Whether its kubelet says what its pods are like. */
  isReady: boolean;
}

/** All nodes, as kubectl prints them. */
export async function listNodes(client: Pick<TenantClient, "listPage">): Promise<TenantNode[]> {
  const nodes = await listAllPages(client, nodeKind);
  return nodes.map(({ metadata, columns }) => ({
    name: metadata.name,
    version: columns.Version,
    isReady: columns.Status.split(",").includes("Ready"),
  }));
}

/** How far a kubelet may be behind the API server: https://kubernetes.io/releases/version-skew-policy/#kubelet */
const MAX_MINORS_BEHIND = 3;

/** What stands behind the patch is of the vendor, as in v1.34.2+k3s1. */
const VERSION = /^v?(\d{1,4})\.(\d{1,4})\./;

/**
 * The nodes whose kubelets an API server of a target does not support: too old ones block, newer ones do not become worse
 * by the upgrade.
 */
export async function* readSkewChecks(
  nodes: Promise<readonly TenantNode[]>,
  targets: readonly string[],
): AsyncGenerator<Finding> {
  const present = await nodes;
  for (const target of targets) {
    const wanted = toMinors(target);
    for (const { name, version } of present) {
      const check = findSkew(toMinors(version), wanted);
      if (check === undefined) continue;
      yield { target, check: { ...check, object: { kind: "Node", namespace: null, name } } };
    }
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
