import { KubeError } from "../../../shared/kube/errors.ts";
import type { TenantClient } from "../../../shared/tenant/tenant-client.ts";
import type { Effects, UpgradeCheck } from "../../node-pools/index.ts";
import type { ProjectedCluster } from "../../resources/project/index.ts";
import { describeTenantError, type TenantReader } from "../tenant-reader.ts";
import { readBudgetChecks } from "./budget-checks.ts";
import { readCertificateChecks } from "./certificate-checks.ts";
import { readSkewChecks } from "./node-checks.ts";
import { readRemovedApis } from "./removed-api-checks.ts";
import { readWebhookChecks } from "./webhook-checks.ts";

/** Of each read; more are one check `unknown`. */
const MAX_FOUND = 100;

/** What is read, and as what object it is named where it could not be. */
const READS: readonly {
  kind: string;
  name: string;
  read: (client: TenantClient, target: string) => AsyncIterable<UpgradeCheck>;
}[] = [
  { kind: "APIResource", name: "poddisruptionbudgets.v1.policy", read: readBudgetChecks },
  {
    kind: "APIResource",
    name: "webhookconfigurations.v1.admissionregistration.k8s.io",
    read: readWebhookChecks,
  },
  { kind: "NonResourceURL", name: "/metrics", read: readRemovedApis },
  { kind: "APIResource", name: "nodes.v1", read: readSkewChecks },
  { kind: "NonResourceURL", name: "/version", read: readCertificateChecks },
];

/**
 * What an upgrade to `target` finds in the cluster itself, blocking checks first; nothing without a target. What alone
 * could not be read is a check `unknown`; without any answer all is unknown.
 */
export async function readUpgradeChecks(
  reader: TenantReader,
  cluster: ProjectedCluster,
  target: string | undefined,
): Promise<Pick<Effects, "checks">> {
  if (target === undefined) return {};
  const checks = await reader.read(cluster, async (client) => {
    const outcomes = await Promise.all(
      READS.map(async ({ kind, name, read }) => collect({ kind, name }, read(client, target))),
    );
    const found = outcomes.flatMap((outcome) => outcome.checks);
    const errors = outcomes.flatMap((outcome) => outcome.error ?? []);
    const [first] = errors;
    if (first !== undefined && errors.length === READS.length && errors.length === found.length) throw first;
    const isBlocking = ({ severity }: UpgradeCheck) => severity === "blocking";
    return [...found.filter(isBlocking), ...found.filter((check) => !isBlocking(check))];
  });
  return { checks };
}

/** What was found, also before an error, which is the last check. */
async function collect(
  of: { kind: string; name: string },
  found: AsyncIterable<UpgradeCheck>,
): Promise<{ checks: UpgradeCheck[]; error?: KubeError }> {
  const checks: UpgradeCheck[] = [];
  const endWith = (message: string) => [...checks, toUnknownCheck(of, message)];
  try {
    for await (const check of found) {
      if (checks.length === MAX_FOUND)
        return { checks: endWith(`More than ${MAX_FOUND} were found; the others are not listed.`) };
      checks.push(check);
    }
    return { checks };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return { checks: endWith(describeTenantError(error)), error };
  }
}

function toUnknownCheck({ kind, name }: { kind: string; name: string }, message: string): UpgradeCheck {
  const fix = "Look at it in the cluster yourself before you upgrade.";
  return { check: "unknown", severity: "warning", object: { kind, namespace: null, name }, message, fix };
}
