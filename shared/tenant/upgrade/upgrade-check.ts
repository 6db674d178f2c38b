import { ADVICE_BY_REASON } from "../../crd/rest-words.ts";
import { copyTruncated, KubeError } from "../../kube/errors.ts";
import { count, listNames } from "../../program/wording.ts";
import { describeTenantError } from "../connect.ts";

/** What an upgrade finds: the kinds of checks. */
export const UPGRADE_CHECKS = [
  "pods_not_evictable",
  "webhook_without_endpoint",
  "removed_api",
  "version_skew",
  "certificate_ends",
  "unknown",
] as const;

/** `blocking`: the upgrade waits for it, or something no longer works after it, until a person acts. */
export const CHECK_SEVERITIES = ["blocking", "warning"] as const;

/** One finding in a tenant cluster. What the cluster says in it is not trusted: it is text alone. */
export interface UpgradeCheck {
  check: (typeof UPGRADE_CHECKS)[number];
  severity: (typeof CHECK_SEVERITIES)[number];
  /** The namespace is null for an object that is in none. */
  object: { kind: string; namespace: string | null; name: string };
  /** What was found, as a sentence for people. */
  message: string;
  /** What to do about it. */
  fix: string;
}

/** A check, and the target whose upgrade finds it; undefined = that to each target does. */
export interface Finding {
  check: UpgradeCheck;
  target?: string;
}

export function isBlocking({ severity }: Pick<UpgradeCheck, "severity">): boolean {
  return severity === "blocking";
}

const MAX_NAME_LENGTH = 80;

/** Why an upgrade is held, with the objects that block it, for kubectl; REST says it in its own words (`toRestWords`). */
export function describeBlockedUpgrade(target: string, checks: readonly UpgradeCheck[]): string {
  const blocking = checks.filter(isBlocking);
  const found = `The upgrade to Kubernetes ${target} is blocked by ${count(blocking.length, "check")}: ${nameObjects(blocking)}.`;
  return `${found} ${ADVICE_BY_REASON.UpgradeBlocked.kubectl}`;
}

/** What an upgrade that begins has found: one check as a sentence, of more the objects. */
export function describeWarnedUpgrade(target: string, checks: readonly UpgradeCheck[]): string {
  const [first] = checks;
  const found = checks.length === 1 && first !== undefined ? describeCheck(first) : `${nameObjects(checks)}.`;
  return `The upgrade to Kubernetes ${target} begins with ${count(checks.length, "warning")}: ${found}`;
}

/** One check as a sentence: its object, what was found, and what to do. */
export function describeCheck(check: UpgradeCheck): string {
  return `${nameObject(check)}: ${check.message} ${check.fix}`;
}

function nameObjects(checks: readonly UpgradeCheck[]): string {
  return listNames(checks.map((check) => `${nameObject(check)} (${check.check})`));
}

function nameObject({ object: { kind, namespace, name } }: UpgradeCheck): string {
  return truncateName(namespace === null ? `${kind} ${name}` : `${kind} ${namespace}/${name}`);
}

/** A cluster names its objects as it likes: this is what stands in a sentence. */
export function truncateName(name: string): string {
  return copyTruncated(name, MAX_NAME_LENGTH);
}

/** The warning that something was not read or is not listed. */
export function toUnknownCheck(object: UpgradeCheck["object"], message: string): UpgradeCheck {
  const fix = "Look at it in the cluster yourself before you upgrade.";
  return { check: "unknown", severity: "warning", object, message, fix };
}

/** What is found of one object; a check `unknown` where that cannot be read, unless the time for all is over. */
export async function findOfOne(
  object: UpgradeCheck["object"],
  find: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof KubeError) || error.isAborted) throw error;
    return [{ check: toUnknownCheck(object, describeTenantError(error)) }];
  }
}
