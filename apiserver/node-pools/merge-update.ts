import { isDeepStrictEqual } from "node:util";
import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { checkPoolRules } from "./pool-rules.ts";
import { type MutablePoolField, WIRE_NAMES } from "./wire-names.ts";

/** The settings of a pool that PUT may change; `clusterName` and `nodeTaints` are fixed at creation. */
export type MutablePoolSpec = Pick<NodePoolSpec, MutablePoolField>;

/**
 * A parsed PUT body: only what was sent is present; null is "no change" for the settings that have a platform
 * default. `fixed` holds, by wire name, the settings of creation that the body repeats.
 */
export interface NodePoolChange {
  settings: { [Field in MutablePoolField]?: MutablePoolSpec[Field] | null | undefined };
  fixed: Readonly<Record<string, unknown>>;
}

/** What a merge looks at: the live object's spec, its present name, and by wire name what is fixed for ever. */
export interface CurrentPool {
  name: string;
  spec: NodePoolSpec;
  fixed: Readonly<Record<string, unknown>>;
}

export type MergeResult =
  | { ok: true; changed: MutablePoolField[]; patch: Record<string, unknown>; merged: NodePoolSpec }
  | { ok: false; details: [ErrorDetail, ...ErrorDetail[]] };

const MUTABLE_FIELDS = Object.keys(WIRE_NAMES) as MutablePoolField[];

/**
 * Merges a PUT body with the pool as it is (spec 4.5): an omitted field keeps its value, null on a timeout or
 * scale-down setting changes nothing, a setting fixed at creation may be repeated but not changed, and the merged
 * result must hold every rule between fields. `patch` is the merge patch of `spec` with just the fields whose value
 * changes (a removed node label is null); it is empty when the body asks for what is already there.
 */
export function mergeUpdate(current: CurrentPool, change: NodePoolChange): MergeResult {
  const merged: NodePoolSpec = { ...current.spec, ...presentSettings(change) };
  const [first, ...others] = [...checkFixed(current, change), ...checkPoolRules(merged)];
  if (first !== undefined) return { ok: false, details: [first, ...others] };

  const changed = MUTABLE_FIELDS.filter((field) => isChanged(current, merged, field));
  const patch = Object.fromEntries(changed.map((field) => [field, patchOf(current.spec, merged, field)]));
  return { ok: true, changed, patch, merged };
}

function presentSettings({ settings }: NodePoolChange): Partial<MutablePoolSpec> {
  return Object.fromEntries(
    MUTABLE_FIELDS.map((field) => [field, settings[field]]).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );
}

function checkFixed(current: CurrentPool, change: NodePoolChange): ErrorDetail[] {
  return Object.entries(change.fixed)
    .filter(([field, value]) => value !== undefined && !isDeepStrictEqual(value, current.fixed[field]))
    .map(([field]) => ({ field, code: "immutable", message: "is fixed when the pool is created" }));
}

function isChanged(current: CurrentPool, merged: NodePoolSpec, field: MutablePoolField): boolean {
  if (field === "displayName") return merged.displayName !== undefined && merged.displayName !== current.name;
  if (field === "nodeLabels")
    return !isDeepStrictEqual(merged.nodeLabels ?? {}, current.spec.nodeLabels ?? {});
  return merged[field] !== current.spec[field];
}

function patchOf(spec: NodePoolSpec, merged: NodePoolSpec, field: MutablePoolField): unknown {
  if (field !== "nodeLabels") return merged[field];
  const wanted = merged.nodeLabels ?? {};
  const removed = Object.keys(spec.nodeLabels ?? {}).filter((key) => !Object.hasOwn(wanted, key));
  const set = Object.entries(wanted).filter(([key, value]) => spec.nodeLabels?.[key] !== value);
  return Object.fromEntries([...removed.map((key) => [key, null]), ...set]);
}
