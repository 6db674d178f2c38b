import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { nodePoolRules } from "../../shared/crd/node-pool-rules.ts";
import { type Fault, findFaults } from "../../shared/crd/rule.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { findWireNames, toWireWords } from "./wire-names.ts";

/**
 * Every rule between a pool's fields that does not hold, for create and for the merged result of an update: the very
 * rules that the custom resource carries, in the words of the interface. `sent` holds the wire names in the body: a
 * detail names the rule's own field, or the first of its fields that the client did send.
 */
export function checkPoolRules(spec: NodePoolSpec, sent: ReadonlySet<string>): ErrorDetail[] {
  return findFaults(nodePoolRules, spec).map((fault) => toDetail(fault, sent));
}

function toDetail({ code, message }: Fault, sent: ReadonlySet<string>): ErrorDetail {
  const fields = findWireNames(message);
  const [own = "body"] = fields;
  return {
    field: fields.find((field) => sent.has(field)) ?? own,
    code,
    message: toWireWords(message).replace(`${own}: `, ""),
  };
}
