import { FINALIZER, GROUP, LABEL_ID, LABEL_ORG_ID, MANAGER_PREFIX } from "../names.ts";

/** A variable of a policy; Kubernetes computes it when a rule first asks for it. */
export interface Variable {
  name: string;
  expression: string;
}

const quote = (text: string) => `'${text}'`;

/** A CEL list of strings. */
export const listOf = (values: readonly string[]) => `[${values.map(quote).join(", ")}]`;

const PARTS = {
  labels: ["metadata.labels", "{}"],
  annotations: ["metadata.annotations", "{}"],
  finalizers: ["metadata.finalizers", "[]"],
  owners: ["metadata.ownerReferences", "[]"],
  entries: ["metadata.managedFields", "[]"],
  spec: ["spec", "{}"],
  status: ["status", "{}"],
} as const;

type Part = keyof typeof PARTS;
type Entries = "labels" | "annotations";

/** The parts of the object and, with `Before`, of what it was; empty where it has none. */
export const objectVariables: readonly Variable[] = [
  { name: "subresource", expression: "has(request.subResource) ? request.subResource : ''" },
  ...Object.entries(PARTS).flatMap(([name, [path, empty]]) => [
    { name, expression: `object == null || !has(object.${path}) ? ${empty} : object.${path}` },
    {
      name: `${name}Before`,
      expression: `oldObject == null || !has(oldObject.${path}) ? ${empty} : oldObject.${path}`,
    },
  ]),
];

export const CREATES = "oldObject == null";

const differs = (part: Part, key: string) =>
  `(!(${key} in variables.${part}Before) || variables.${part}[${key}] != variables.${part}Before[${key}])`;

/** An entry is set, or has another value than before. */
export const sets = (part: Entries, key: string) =>
  `(${quote(key)} in variables.${part} && ${differs(part, quote(key))})`;

/** An entry is removed from an object that goes on. */
export const removes = (part: Entries, key: string) =>
  `(!(${quote(key)} in variables.${part}) && ${quote(key)} in variables.${part}Before)`;

/** An entry is set, has another value than before, or is removed. */
export const changes = (part: Entries, key: string) => `(${sets(part, key)} || ${removes(part, key)})`;

/** An entry whose key begins with the prefix is set, or has another value than before. */
export const setsPrefix = (part: Entries, prefix: string) =>
  `variables.${part}.exists(key, key.startsWith(${quote(prefix)}) && ${differs(part, "key")})`;

/** An entry with a key of Marina's group is set, has another value than before, or is removed. */
export function changesOwn(part: Entries): string {
  const isOwn = `(key.startsWith('${GROUP}/') || key.contains('.${GROUP}/'))`;
  const isSet = `variables.${part}.exists(key, ${isOwn} && ${differs(part, "key")})`;
  return `${isSet} || variables.${part}Before.exists(key, ${isOwn} && !(key in variables.${part}))`;
}

export const anyOf = (...conditions: string[]) => conditions.join(" || ");

const flag = (part: string, field: string) =>
  `(${quote(field)} in variables.${part} && variables.${part}.${field} == true)`;
const number = (part: string, field: string) =>
  `(${quote(field)} in variables.${part} ? variables.${part}.${field} : 0)`;

/** A boolean field of the spec changes; absent is false. */
export const switches = (field: string) => `${flag("spec", field)} != ${flag("specBefore", field)}`;

/** A number of the spec changes; absent is 0. */
export const renumbers = (field: string) => `${number("spec", field)} != ${number("specBefore", field)}`;

const isNew = (label: string) =>
  `(${quote(label)} in variables.labels && !(${quote(label)} in variables.labelsBefore))`;

/** An id or organization that the object did not have; the id in its status it had. */
export const SETS_IDENTITY = anyOf(
  `(${isNew(LABEL_ID)} && !('id' in variables.statusBefore && variables.labels[${quote(LABEL_ID)}] == variables.statusBefore.id))`,
  isNew(LABEL_ORG_ID),
);

const HELD_FINALIZER = `${quote(FINALIZER)} in variables.finalizersBefore`;

export const REMOVES_FINALIZER = `oldObject != null && has(oldObject.metadata.deletionTimestamp) && ${HELD_FINALIZER} && !(${quote(FINALIZER)} in variables.finalizers)`;

/** In such a Namespace the operator makes nothing, and adds no finalizer. */
const IS_IGNORED =
  "'conditions' in variables.statusBefore && variables.statusBefore.conditions.exists(one, one.type == 'Stalled' && one.status == 'True' && one.reason in ['UnknownOrganization', 'DuplicateOrganization'])";

/** Ends an object at once for which there may be infrastructure: the operator adds its finalizer together with the id. */
export const DELETES_WITHOUT_FINALIZER = `!(${IS_IGNORED}) && !has(oldObject.metadata.deletionTimestamp) && !(${HELD_FINALIZER}) && (${quote(LABEL_ID)} in variables.labelsBefore || ('observedGeneration' in variables.statusBefore && variables.statusBefore.observedGeneration > 0))`;

/** Nothing but managedFields changes, as in the second patch of a restore. */
export const CHANGES_MANAGERS_ALONE = `oldObject != null && ${(["labels", "annotations", "finalizers", "owners", "spec", "status"] as const).map((part) => `variables.${part} == variables.${part}Before`).join(" && ")}`;

const MANAGER = "has(request.options) && has(request.options.fieldManager)";

export const NAMES_OWN_MANAGER = `${MANAGER} && request.options.fieldManager.startsWith('${MANAGER_PREFIX}')`;

/** Removes all managedFields: the audit log would not show who set a field, nor the operator see which status fields are its own. */
export const RESETS_MANAGERS =
  "variables.entriesBefore.size() > 0 && variables.entries.size() == 0 && object != null";

const MAX_LABELS = 64;
const MAX_FINALIZERS = 16;
const MAX_OWNERS = 8;
const MAX_ANNOTATION_CHARACTERS = 65_536;

/** Metadata that Kubernetes does not limit, and that would leave no room for a status in etcd's 1.5 MiB. */
export const OVERFILLS_METADATA = [
  `variables.labels.size() > ${MAX_LABELS}`,
  `variables.finalizers.size() > ${MAX_FINALIZERS}`,
  `variables.owners.size() > ${MAX_OWNERS}`,
  `variables.annotations.map(key, size(key) + size(variables.annotations[key])).sum() > ${MAX_ANNOTATION_CHARACTERS}`,
].join(" || ");

const same = (field: string) =>
  `(has(now.${field}) ? now.${field} : '') == (has(before.${field}) ? before.${field} : '')`;

/**
 * For writers that name no manager, who get the first part of their User-Agent. A writer that takes a field over makes the entry
 * of Marina smaller, but never newer.
 */
export const WRITES_OWN_ENTRY = `variables.entries.exists(now, now.manager.startsWith('${MANAGER_PREFIX}') && !variables.entriesBefore.exists(before, before.manager == now.manager && ${["operation", "subresource", "time"].map(same).join(" && ")}))`;

/** A map in the spec is compared by its entries: the removal of one sets nothing. */
const SETS_SPEC = `variables.spec.exists(key, ${differs("spec", "key")} && (!(key in variables.specBefore) || type(variables.spec[key]) != map || type(variables.specBefore[key]) != map || variables.spec[key].exists(inner, !(inner in variables.specBefore[key]) || variables.spec[key][inner] != variables.specBefore[key][inner])))`;

const IS_NEWEST = "has(own.time) && variables.entries.all(other, !has(other.time) || other.time <= own.time)";

/**
 * Times have whole seconds: in the second of a write by Marina, the entry of a writer that names no manager and calls itself
 * Marina looks like Marina's. A writer that sets a value gets the newest entry.
 */
export const HIDES_BEHIND_OWN_ENTRY = `oldObject != null && !(${MANAGER} && request.options.fieldManager != '') && ${SETS_SPEC} && variables.entries.exists(own, own.manager.startsWith('${MANAGER_PREFIX}') && own.operation == 'Update' && !has(own.subresource) && ${IS_NEWEST})`;

/** The status gets an id that it did not have. */
export const SETS_STATUS_ID = "'id' in variables.status && !('id' in variables.statusBefore)";

/** The subject of a new access is the id of a user. */
export const GRANTS_TO_USER = (uuid: string) =>
  `${CREATES} && 'subject' in variables.spec && variables.spec.subject.lowerAscii().matches('${uuid}')`;
