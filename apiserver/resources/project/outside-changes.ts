import type { ManagedFieldsEntry } from "../../../shared/kube/kind.ts";

/** Managers of the platform's own programs; their writes are audited where they are made. */
const OWN_PREFIX = "marina-";

/** The spec fields of an object that a direct Kubernetes client manages, according to managedFields. */
export interface OutsideWriter {
  manager: string;
  operation: "Apply" | "Update";
  time: string;
  /** Fields of the spec, first level, in alphabetical order. */
  fields: string[];
}

/** One change made outside REST: its manager, and the values of the fields before and after. */
export interface OutsideChange {
  manager: string;
  before: Record<string, unknown>;
  after: Record<string, unknown>;
}

type Spec = Readonly<Record<string, unknown>>;

/** All managers of spec fields except the platform, the latest writer last. */
export function outsideWritersOf(managedFields: readonly ManagedFieldsEntry[] = []): OutsideWriter[] {
  return managedFields
    .filter(({ manager, subresource }) => subresource !== "status" && !isOwn(manager, subresource))
    .map(({ manager, operation, time = "", fieldsV1 }) => ({
      manager,
      operation,
      time,
      fields: fieldsOf(fieldsV1?.["f:spec"]),
    }))
    .filter(({ fields }) => fields.length > 0)
    .sort((left, right) => left.time.localeCompare(right.time));
}

/** The creation of an object by its first outside writer; undefined when there is none. */
export function findOutsideCreation(after: {
  writers: readonly OutsideWriter[];
  spec: Spec;
}): OutsideChange | undefined {
  const [first] = after.writers;
  if (first === undefined) return undefined;
  return { manager: first.manager, before: {}, after: pick(after.spec, first.fields) };
}

/** Admission sees no managers of a scale, by which the platform's programs never write. */
function isOwn(manager: string, subresource: string | undefined): boolean {
  return manager.startsWith(OWN_PREFIX) && subresource === undefined;
}

function fieldsOf(node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.keys(node)
    .filter((key) => key.startsWith("f:"))
    .map((key) => key.slice(2))
    .sort((left, right) => left.localeCompare(right));
}

function pick(spec: Spec, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter((field) => spec[field] !== undefined).map((field) => [field, spec[field]]),
  );
}
