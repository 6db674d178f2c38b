import type { CapiCondition } from "./kinds.ts";
import { toTenantWords } from "./tenant-words.ts";

/** Long enough for a cause, short enough that object and next step stay visible. */
const MAX_LENGTH = 500;

/**
 * The message of a Cluster API condition for tenants, in one line (it writes bulleted lists); its reason when it has none, or
 * nothing in it concerns them.
 */
export function explain(condition: CapiCondition): string {
  const text = (condition.message ?? "")
    .split("\n")
    .map((line) => line.trim().replace(/^\* /, ""))
    .filter((line) => line !== "")
    .join("; ");
  return shorten(toTenantWords(text) || condition.reason);
}

/**
 * Why Cluster API rejected an object, for tenants, without the name of the webhook: 'admission webhook "x" denied the request:
 * Cluster "y" is invalid: <why>' becomes <why>.
 */
export function explainRejection(message: string): string {
  const core = message
    .replace(/^.*?denied the request: /s, "")
    .replace(/^\S+ "[^"]*" is (invalid|forbidden): /s, "");
  const why = toTenantWords(core.replace(/\s+/g, " "));
  return shorten(why || "it cannot be carried out");
}

/**
 * `rollout`: the previous rollout has not ended, so it has to wait; `quota`: a ResourceQuota of the namespace; `taints`: Cluster
 * API takes no taints of pools, as by default.
 */
export type RejectionCause = "rollout" | "quota" | "taints" | "specification";

/** What a rejection is about, by its text: Cluster API has no codes for it. */
export function findRejectionCause(message: string): RejectionCause {
  if (/version cannot be changed/.test(message)) return "rollout";
  if (/feature gate MachineTaintPropagation is disabled/.test(message)) return "taints";
  return /exceeded quota/.test(message) ? "quota" : "specification";
}

function shorten(text: string): string {
  const points = Array.from(text.replace(/\.$/, ""));
  return points.length <= MAX_LENGTH ? points.join("") : `${points.slice(0, MAX_LENGTH - 1).join("")}…`;
}
