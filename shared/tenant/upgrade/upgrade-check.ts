import { ADVICE_BY_REASON } from "../../crd/rest-words.ts";
import { copyClipped } from "../../kube/errors.ts";
import { count } from "../../program/wording.ts";

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

/** Of the objects that a sentence names: the rest of it is shorter than a message may be. */
const MAX_NAMED = 6;
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
  const names = checks.slice(0, MAX_NAMED).map((check) => `${nameObject(check)} (${check.check})`);
  const more = checks.length - names.length;
  return `${names.join(", ")}${more === 0 ? "" : `, and ${more} more`}`;
}

/** A cluster names its objects as it likes: what is no visible character stands as U+FFFD. */
function nameObject({ object: { kind, namespace, name } }: UpgradeCheck): string {
  const place = namespace === null ? "" : `${namespace}/`;
  return copyClipped(
    `${kind} ${place}${name}`.replaceAll(/\p{C}|\p{Zl}|\p{Zp}/gu, "\uFFFD"),
    MAX_NAME_LENGTH,
  );
}
