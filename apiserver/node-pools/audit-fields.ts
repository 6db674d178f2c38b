import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { type MutablePoolField, WIRE_NAMES } from "./wire-names.ts";

/** The settings of a pool that an audit row shows, by wire name; only `fields` where they are given. */
export function presentAudit(
  spec: NodePoolSpec,
  fields: readonly MutablePoolField[] = Object.keys(WIRE_NAMES) as MutablePoolField[],
): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter((field) => spec[field] !== undefined).map((field) => [WIRE_NAMES[field], spec[field]]),
  );
}
