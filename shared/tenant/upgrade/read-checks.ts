import { KubeError } from "../../kube/errors.ts";
import { describeTenantError } from "../connect.ts";
import type { TenantClient } from "../tenant-client.ts";
import { readCertificateChecks, readRemovedApis } from "./api-server-checks.ts";
import { readBudgetChecks } from "./budget-checks.ts";
import { listNodes, readSkewChecks, type TenantNode } from "./node-checks.ts";
import { type Finding, isBlocking, toUnknownCheck, type UpgradeCheck } from "./upgrade-check.ts";
import { readWebhookChecks } from "./webhook-checks.ts";

/** For each read and target; more are one check `unknown`. */
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

/** For one target: all that block come first, for not all of the others may be listed. */
interface Found {
  blocking: UpgradeCheck[];
  others: UpgradeCheck[];
}

/** What was found of each target, also before an error, which is its last check; and how many findings there were. */
async function collect(
  { kind, name }: { kind: string; name: string },
  findings: AsyncIterable<Finding>,
  targets: readonly string[],
): Promise<{ checks: ReadonlyMap<string, UpgradeCheck[]>; count: number; error?: KubeError }> {
  const all = new Map<string, Found>(targets.map((target) => [target, { blocking: [], others: [] }]));
  const object = { kind, namespace: null, name };
  let count = 0;
  let error: KubeError | undefined;
  try {
    for await (const { check, target } of findings) {
      count += 1;
      for (const [each, found] of all) if ((target ?? each) === each) keep(found, check);
      if ([...all.values()].every(({ blocking }) => blocking.length > MAX_FOUND)) break;
    }
  } catch (thrown) {
    if (!(thrown instanceof KubeError)) throw thrown;
    error = thrown;
  }
  const unknown = error === undefined ? [] : [toUnknownCheck(object, describeTenantError(error))];
  const checks = new Map([...all].map(([target, found]) => [target, [...toList(found, object), ...unknown]]));
  return { checks, count, ...(error && { error }) };
}

/** One more than is listed is kept, by which it is known that there are more. */
function keep({ blocking, others }: Found, check: UpgradeCheck): void {
  const list = isBlocking(check) ? blocking : others;
  if (list.length <= MAX_FOUND) list.push(check);
}

function toList({ blocking, others }: Found, object: UpgradeCheck["object"]): UpgradeCheck[] {
  const found = [...blocking, ...others];
  if (found.length <= MAX_FOUND) return found;
  const message = `More than ${MAX_FOUND} were found; the others are not listed.`;
  return [...found.slice(0, MAX_FOUND), toUnknownCheck(object, message)];
}
