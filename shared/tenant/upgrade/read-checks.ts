import { KubeError } from "../../kube/errors.ts";
import { describeTenantError } from "../connect.ts";
import type { TenantClient } from "../tenant-client.ts";
import { readBudgetChecks } from "./budget-checks.ts";
import { readCertificateChecks } from "./certificate-checks.ts";
import { listNodes, readSkewChecks, type TenantNode } from "./node-checks.ts";
import { readRemovedApis } from "./removed-api-checks.ts";
import { type Finding, isBlocking, type UpgradeCheck } from "./upgrade-check.ts";
import { readWebhookChecks } from "./webhook-checks.ts";

/** Of each read and target; more are one check `unknown`. */
const MAX_FOUND = 100;

/** What several reads have in common: the nodes, which are listed once. */
interface Shared {
  client: TenantClient;
  targets: readonly string[];
  nodes: Promise<TenantNode[]>;
}

/** What is read, and as what object it is named where it could not be. */
const READS: readonly { kind: string; name: string; read: (shared: Shared) => AsyncIterable<Finding> }[] = [
  {
    kind: "APIResource",
    name: "poddisruptionbudgets.v1.policy",
    read: ({ client, nodes, targets }) => readBudgetChecks(client, nodes, targets),
  },
  {
    kind: "APIResource",
    name: "webhookconfigurations.v1.admissionregistration.k8s.io",
    read: ({ client }) => readWebhookChecks(client),
  },
  {
    kind: "NonResourceURL",
    name: "/metrics",
    read: ({ client, targets }) => readRemovedApis(client, targets),
  },
  { kind: "APIResource", name: "nodes.v1", read: ({ nodes, targets }) => readSkewChecks(nodes, targets) },
  { kind: "NonResourceURL", name: "/version", read: ({ client }) => readCertificateChecks(client) },
];

/**
 * What an upgrade to each of the targets finds in a cluster, blocking checks first. What alone could not be read is a check
 * `unknown`. Rejects with a KubeError when nothing could be read.
 */
export async function readUpgradeChecks(
  client: TenantClient,
  targets: readonly string[],
): Promise<ReadonlyMap<string, UpgradeCheck[]>> {
  const shared = { client, targets, nodes: listNodes(client) };
  const outcomes = await Promise.all(READS.map(async (one) => collect(one, one.read(shared), targets)));
  const errors = outcomes.flatMap(({ error }) => error ?? []);
  const [first] = errors;
  const isNothingKnown = errors.length === READS.length && outcomes.every(({ count }) => count === 0);
  if (first !== undefined && isNothingKnown) throw first;
  return new Map(
    targets.map((target) => {
      const found = outcomes.flatMap(({ checks }) => checks.get(target) ?? []);
      return [target, [...found.filter(isBlocking), ...found.filter((check) => !isBlocking(check))]];
    }),
  );
}

/** What was found of each target, also before an error, which is its last check; and how many findings there were. */
async function collect(
  of: { kind: string; name: string },
  findings: AsyncIterable<Finding>,
  targets: readonly string[],
): Promise<{ checks: ReadonlyMap<string, UpgradeCheck[]>; count: number; error?: KubeError }> {
  const checks = new Map<string, UpgradeCheck[]>(targets.map((target) => [target, []]));
  let count = 0;
  try {
    for await (const { check, target } of findings) {
      count += 1;
      // One more is kept, by which it is known below.
      for (const [of, found] of checks)
        if ((target ?? of) === of && found.length <= MAX_FOUND) found.push(check);
      if ([...checks.values()].every((found) => found.length > MAX_FOUND)) break;
    }
    cutOff(of, checks);
    return { checks, count };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    cutOff(of, checks);
    for (const found of checks.values()) found.push(toUnknownCheck(of, describeTenantError(error)));
    return { checks, count, error };
  }
}

function cutOff(of: { kind: string; name: string }, checks: ReadonlyMap<string, UpgradeCheck[]>): void {
  const message = `More than ${MAX_FOUND} were found; the others are not listed.`;
  for (const found of checks.values())
    if (found.length > MAX_FOUND)
      found.splice(MAX_FOUND, Number.POSITIVE_INFINITY, toUnknownCheck(of, message));
}

/** That something was not read or is not listed: a warning. */
export function toUnknownCheck(
  { kind, name }: { kind: string; name: string },
  message: string,
): UpgradeCheck {
  const fix = "Look at it in the cluster yourself before you upgrade.";
  return { check: "unknown", severity: "warning", object: { kind, namespace: null, name }, message, fix };
}
