import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { nodePoolRules } from "../../shared/crd/node-pool-rules.ts";
import { findFaults, type RuleViolation } from "../../shared/crd/rule.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { findWireNames, toWireText } from "./wire-names.ts";

/**
 * Every rule between a pool's fields that does not hold, for create and for the merged result of an update: the rules of
 * the custom resource, with wire names. A rule over the whole pool is reported at the first field that it names.
 */
export function checkPoolRules(spec: NodePoolSpec): ErrorDetail[] {
  return findFaults(nodePoolRules, spec).map(toDetail);
}

function toDetail({ field, code, message }: RuleViolation): ErrorDetail {
  const [first = "body"] = findWireNames(field === "" ? message : field);
  return { field: first, code, message: toWireText(message) };
}
