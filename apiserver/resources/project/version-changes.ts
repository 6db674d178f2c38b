import { isDeepStrictEqual } from "node:util";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { MANAGER_APISERVER, MANAGER_OPERATOR, MANAGER_PREFIX } from "../../../shared/crd/names.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { holdsField, type ManagedFieldsEntry } from "../../../shared/kube/kind.ts";
import { UNKNOWN_MANAGER } from "../../audit/index.ts";
import { type AuditedState, toAuditedState } from "./audited-state.ts";
import type { ExternalChange } from "./project.ts";

/** One field that differs between two versions. */
interface FieldChange {
  part: "spec" | "labels" | "annotations" | "finalizers" | "managedFields";
  key: string;
  before: unknown;
  after: unknown;
  /** Its place in managedFields. */
  path: readonly string[];
}

/**
 * What others than Marina's programs changed from one version of an object to the next, one entry for each field
 * manager. A field is attributed to its manager in the next version: a write that changes a value makes its
 * writer the manager, also in the second of another write. What REST writes has its own audit rows, and a new request
 * id.
 */
export function findVersionChanges(before: AuditedState, next: Cluster | NodePool): ExternalChange[] {
  const after = toAuditedState(next);
  const isOfRest = after.requestId !== before.requestId;
  const byManager = Map.groupBy(compare(before, after), (change) => findWriter(next, change, isOfRest));
  return [...byManager].flatMap(([manager, changes]) =>
    manager === undefined
      ? []
      : [{ manager, before: compose(changes, "before"), after: compose(changes, "after") }],
  );
}

/** The generations of versions that were not seen between two; undefined when none can be missing. */
export function findGap(before: AuditedState, after: AuditedState): { from: number; to: number } | undefined {
  const { generation: from } = before;
  const { generation: to } = after;
  return to - from > 1 ? { from, to } : undefined;
}

function compare(before: AuditedState, after: AuditedState): FieldChange[] {
  const changes: FieldChange[] = [
    ...compareFields("spec", before.spec, after.spec, ["f:spec"]),
    ...compareFields("labels", before.labels, after.labels, ["f:metadata", "f:labels"]),
    ...compareFields("annotations", before.annotations, after.annotations, ["f:metadata", "f:annotations"]),
    ...compareFields("finalizers", asFields(before.finalizers), asFields(after.finalizers), [
      "f:metadata",
      "f:finalizers",
    ]),
  ];
  if (before.isManaged && !after.isManaged)
    changes.push({ part: "managedFields", key: "managedFields", before: true, after: false, path: [] });
  return changes;
}

type Fields = Readonly<Record<string, unknown>>;

function compareFields(
  part: FieldChange["part"],
  before: Fields,
  after: Fields,
  place: readonly string[],
): FieldChange[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key) => {
    if (isDeepStrictEqual(before[key], after[key])) return [];
    const last = part === "finalizers" ? `v:${JSON.stringify(key)}` : `f:${key}`;
    return [{ part, key, before: before[key], after: after[key], path: [...place, last] }];
  });
}

function asFields(finalizers: readonly string[]): Fields {
  return Object.fromEntries(finalizers.map((name) => [name, name]));
}

/** Undefined for a write of Marina's own programs. */
function findWriter(
  { metadata }: Cluster | NodePool,
  { part, path, after }: FieldChange,
  isOfRest: boolean,
): string | undefined {
  // The status has another writer, who changes nothing else.
  const entries = (metadata.managedFields ?? [])
    .filter(({ subresource }) => subresource !== "status")
    .sort((one, other) => (one.time ?? "").localeCompare(other.time ?? ""));
  const owner = entries.findLast((entry) => path.length > 0 && holdsField(entry.fieldsV1, path));
  if (owner !== undefined) return isOwn(owner, isOfRest) ? undefined : owner.manager;
  if (part === "spec" && isOfRest) return undefined;
  // After some writes of the scale subresource the field that they have set has no manager.
  const isSet = path.length > 0 && after !== undefined;
  return isSet ? UNKNOWN_MANAGER : findRemover(entries, part);
}

/**
 * Who removed a field: it has no manager any more, and who only removes leaves no entry. The latest writer is named if
 * it is none of Marina's; the operator removes annotations that it has acted on.
 */
function findRemover(entries: readonly ManagedFieldsEntry[], part: FieldChange["part"]): string | undefined {
  const latest = entries.filter(({ time }) => time === entries.at(-1)?.time);
  const external = latest.find(({ manager }) => !manager.startsWith(MANAGER_PREFIX));
  if (external !== undefined) return external.manager;
  const isOfOperator = part === "annotations" && latest.some(({ manager }) => manager === MANAGER_OPERATOR);
  return isOfOperator ? undefined : UNKNOWN_MANAGER;
}

/** No program of Marina's scales, and REST writes nothing without its request id. */
function isOwn({ manager, subresource }: ManagedFieldsEntry, isOfRest: boolean): boolean {
  if (!manager.startsWith(MANAGER_PREFIX) || subresource !== undefined) return false;
  return isOfRest || !manager.startsWith(MANAGER_APISERVER);
}

function compose(changes: readonly FieldChange[], side: "before" | "after"): Record<string, unknown> {
  const composed: Record<string, unknown> = {};
  const inPart = (part: FieldChange["part"]) =>
    changes.filter((change) => change.part === part && change[side] !== undefined);
  for (const { key, [side]: value } of inPart("spec")) composed[key] = value;
  for (const part of ["labels", "annotations"] as const) {
    const fields = inPart(part).map(({ key, [side]: value }) => [key, value] as const);
    if (fields.length > 0) composed[part] = Object.fromEntries(fields);
  }
  const finalizers = inPart("finalizers").map(({ key }) => key);
  if (finalizers.length > 0) composed.finalizers = finalizers;
  for (const { [side]: value } of inPart("managedFields"))
    composed.managed_fields = value ? "kept" : "removed";
  return composed;
}
