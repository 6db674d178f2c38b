import { isDeepStrictEqual } from "node:util";
import { isSameExpiry } from "../../shared/crd/fields.ts";
import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { NODE_POOL_WIRE_NAMES } from "../../shared/crd/rest-words.ts";
import { findImmutableChanges } from "../http/contract/fields.ts";
import type { ErrorDetail } from "../http/errors.ts";
import type { ProjectedNodePool } from "../resources/project/index.ts";
import { patchOfMap } from "../resources/write/index.ts";
import { findPoolViolations } from "./collection.ts";

export type MutablePoolField = keyof typeof NODE_POOL_WIRE_NAMES;

/** The settings of a pool that PUT may change; `clusterName` and `nodeTaints` are fixed at creation. */
type MutablePoolSpec = Pick<NodePoolSpec, MutablePoolField>;

/**
 * A parsed PUT body: only what was sent is present; null removes the end date, and is "no change" for a setting with a platform
 * default. `immutable` holds, by wire name, the settings of creation that the body repeats.
 */
export interface NodePoolChange {
  settings: { [Field in MutablePoolField]?: MutablePoolSpec[Field] | null | undefined };
  immutable: { id?: unknown; cluster_id?: unknown; node_taints?: unknown };
}

/** What a merge needs to know of the current pool. */
interface CurrentPool extends Pick<ProjectedNodePool, "id" | "clusterId" | "displayName"> {
  object: { spec: NodePoolSpec };
}

type MergeResult =
  | { ok: true; changed: MutablePoolField[]; patch: Record<string, unknown>; merged: NodePoolSpec }
  | { ok: false; details: [ErrorDetail, ...ErrorDetail[]] };

const MUTABLE_FIELDS = Object.keys(NODE_POOL_WIRE_NAMES) as MutablePoolField[];

/**
 * Merges a PUT body with the current pool, whose omitted fields keep their values. A setting of creation may be repeated but not
 * changed, and the result must hold every rule between fields. `patch` is the merge patch of `spec` with only the fields
 * that change (what is removed is null): empty when the body requests what is there already.
 */
export function mergeNodePoolUpdate(current: CurrentPool, change: NodePoolChange): MergeResult {
  const { spec } = current.object;
  const merged: NodePoolSpec = { ...spec, ...toSettings(change) };
  if (change.settings.expiresAt === null) delete merged.expiresAt;
  const record = { id: current.id, cluster_id: current.clusterId, node_taints: spec.nodeTaints ?? [] };
  const fixed = findImmutableChanges(record, change.immutable);
  const [first, ...others] = [...fixed, ...findPoolViolations(merged)];
  if (first !== undefined) return { ok: false, details: [first, ...others] };

  const changed = MUTABLE_FIELDS.filter((field) => isChanged(current, merged, field));
  const patch = Object.fromEntries(changed.map((field) => [field, patchOf(spec, merged, field)]));
  return { ok: true, changed, patch, merged };
}

function toSettings({ settings }: NodePoolChange): Partial<MutablePoolSpec> {
  return Object.fromEntries(
    MUTABLE_FIELDS.map((field) => [field, settings[field]]).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  );
}

function isChanged(
  { displayName, object: { spec } }: CurrentPool,
  merged: NodePoolSpec,
  field: MutablePoolField,
): boolean {
  if (field === "displayName") return merged.displayName !== undefined && merged.displayName !== displayName;
  if (field === "labels" || field === "nodeLabels")
    return !isDeepStrictEqual(merged[field] ?? {}, spec[field] ?? {});
  if (field === "deletionProtection") return (merged[field] ?? false) !== (spec[field] ?? false);
  if (merged[field] === spec[field]) return false;
  return field !== "expiresAt" || !isSameExpiry(merged[field], spec[field]);
}

function patchOf(spec: NodePoolSpec, merged: NodePoolSpec, field: MutablePoolField): unknown {
  if (field === "labels" || field === "nodeLabels") return patchOfMap(spec[field], merged[field]);
  return field === "expiresAt" ? (merged[field] ?? null) : merged[field];
}
