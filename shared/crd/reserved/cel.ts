import { MADE_WITHIN_MS } from "../identity.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_REPLACE_PREFIX,
  FINALIZER,
  GROUP,
  LABEL_ID,
  LABEL_ORG_ID,
  MANAGER_OPERATOR_STATUS,
  MANAGER_PREFIX,
  OBJECT_ANNOTATIONS,
} from "../names.ts";

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

/** An entry with a key of Marina's group, but for `except`, is set, has another value than before, or is removed. */
export function changesOwn(part: Entries, except?: string): string {
  const isFree = except === undefined ? "" : `key != ${quote(except)} && `;
  const isOwn = `${isFree}(key.startsWith('${GROUP}/') || key.contains('.${GROUP}/'))`;
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

/** A field of the spec is set, has another value than before, or is removed. */
export const rewrites = (field: string) =>
  `((${quote(field)} in variables.spec && ${differs("spec", quote(field))}) || (!(${quote(field)} in variables.spec) && ${quote(field)} in variables.specBefore))`;

const isNew = (label: string) =>
  `(${quote(label)} in variables.labels && !(${quote(label)} in variables.labelsBefore))`;

/** An id or organization that the object did not have; the id in its status it had. */
export const SETS_IDENTITY = anyOf(
  `(${isNew(LABEL_ID)} && !('id' in variables.statusBefore && variables.labels[${quote(LABEL_ID)}] == variables.statusBefore.id))`,
  isNew(LABEL_ORG_ID),
);

const ID = `variables.labels[${quote(LABEL_ID)}]`;
/** RFC 9562, 5.7: the first 48 bits of an id are the time in ms; those of now begin with a 0. */
const ID_OF_EARLIEST = `'0' + '%x'.format([int(timestamp(object.metadata.creationTimestamp)) * 1000 - ${MADE_WITHIN_MS}])`;
const IS_OLDER_ID = `(!${ID}.matches('^[0-9a-f]{8}-[0-9a-f]{4}-7') || ${ID}.replace('-', '').substring(0, 12) < ${ID_OF_EARLIEST})`;

/** A new object says that it is made with its id (`identityStateOf`). With an older id, as one from a backup, it waits all the same. */
export const MAKES_ID = `${CREATES} && ${quote(ANNOTATION_IDENTITY)} in variables.annotations && variables.annotations[${quote(ANNOTATION_IDENTITY)}] == 'new' && !(${quote(LABEL_ID)} in variables.labels && ${IS_OLDER_ID})`;

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

/** What `kubectl patch`, `replace` and `edit` call themselves where their caller names no manager. */
export const KUBECTL_MANAGERS_OF_SCALE = ["kubectl-patch", "kubectl-replace", "kubectl-edit"];

/** Each manager of an apply of the scale gets an entry in the pool, which a policy does not see in a request of that part. */
export const NAMES_MANAGER_OF_SCALE = `variables.subresource == 'scale' && ${MANAGER} && !(request.options.fieldManager in ${listOf(["", ...KUBECTL_MANAGERS_OF_SCALE])})`;

export const NAMES_OWN_MANAGER = `${MANAGER} && request.options.fieldManager.startsWith('${MANAGER_PREFIX}')`;

const holdsStatusEntry = (part: "entries" | "entriesBefore") =>
  `variables.${part}.exists(one, has(one.manager) && one.manager == '${MANAGER_OPERATOR_STATUS}')`;

/**
 * Removes all managedFields, or the operator's entry of the status: the audit log would not show who set a field, nor the operator
 * see which status fields are its own.
 */
export const RESETS_MANAGERS = `object != null && ((variables.entriesBefore.size() > 0 && variables.entries.size() == 0) || (${holdsStatusEntry("entriesBefore")} && !${holdsStatusEntry("entries")}))`;

const MAX_LABELS = 64;
const MAX_FINALIZERS = 16;
const MAX_OWNERS = 8;
const MAX_ANNOTATION_CHARACTERS = 65_536;
const MAX_ENTRY_CHARACTERS = 65_536;
const isOwnEntry = (entry: string) =>
  `(has(${entry}.manager) && ${entry}.manager.startsWith('${MANAGER_PREFIX}'))`;
const sizeOfEntries = (part: string, chosen: string) => `size('%s'.format([${part}.filter(one, ${chosen})]))`;

/** Exceeds a limit and is more than before: what Marina has added is no reason to refuse a change that adds nothing. */
const exceeds = (part: Part, limit: number, measure: (part: string) => string) =>
  `(${measure(`variables.${part}`)} > ${limit} && ${measure(`variables.${part}`)} > ${measure(`variables.${part}Before`)})`;
const count = (part: string) => `${part}.size()`;
/** Without those that are reserved, which engineers can add to an object that is full. */
const sizeOfAnnotations = (part: string) =>
  `${part}.map(key, key in ${listOf(OBJECT_ANNOTATIONS)} || key.startsWith(${quote(ANNOTATION_REPLACE_PREFIX)}) ? 0 : size(key) + size(${part}[key])).sum()`;
const sizeOfForeignEntries = (part: string) => sizeOfEntries(part, `!${isOwnEntry("one")}`);

/** Adds metadata that Kubernetes does not limit, and that would leave no room for a status in etcd's 1.5 MiB. */
export const OVERFILLS_METADATA = [
  exceeds("labels", MAX_LABELS, count),
  exceeds("finalizers", MAX_FINALIZERS, count),
  exceeds("owners", MAX_OWNERS, count),
  exceeds("annotations", MAX_ANNOTATION_CHARACTERS, sizeOfAnnotations),
].join(" || ");

/** As OVERFILLS_METADATA. Each field manager that changes an object gets an entry, an engineer too. */
export const OVERFILLS_ENTRIES = exceeds("entries", MAX_ENTRY_CHARACTERS, sizeOfForeignEntries);

const same = (field: string) =>
  `(has(now.${field}) ? now.${field} : '') == (has(before.${field}) ? before.${field} : '')`;

const ADDS_OWN_ENTRY = `variables.entries.exists(now, ${isOwnEntry("now")} && !variables.entriesBefore.exists(before, ${["manager", "operation", "subresource", "time"].map(same).join(" && ")}))`;
const OWN_SIZE = sizeOfEntries("variables.entries", isOwnEntry("one"));
const OWN_SIZE_BEFORE = sizeOfEntries("variables.entriesBefore", isOwnEntry("one"));

/** Small ones may grow: for a field that has become a list by key, Kubernetes enlarges the entries of all managers. */
const ENLARGES_OWN_ENTRIES = `oldObject != null && ${OWN_SIZE} > ${MAX_ENTRY_CHARACTERS} && ${OWN_SIZE} > ${OWN_SIZE_BEFORE}`;

/**
 * For writers that name no manager, who get the first part of their User-Agent, and those that send entries back. A
 * writer that takes a field over makes the entry of Marina smaller, but never newer.
 */
export const WRITES_OWN_ENTRY = `${ADDS_OWN_ENTRY} || (${ENLARGES_OWN_ENTRIES})`;

/** How many levels of maps the spec of a kind has. */
const SPEC_DEPTH = 3;

/**
 * A value of a map is set that an entry of managedFields has; the removal of one sets nothing. CEL of the fields of the entry, of
 * the map, and of what it was.
 */
function manages(fields: string, now: string, before: string, level = 1): string {
  const key = `key${level}`;
  const [inFields, inNow, inBefore] = [`${fields}['f:' + ${key}]`, `${now}[${key}]`, `${before}[${key}]`];
  const isScalar = `!(${key} in ${before}) || type(${inNow}) != map || type(${inBefore}) != map`;
  const within =
    level === SPEC_DEPTH ? "" : ` && (${isScalar} || ${manages(inFields, inNow, inBefore, level + 1)})`;
  return `${now}.exists(${key}, ('f:' + ${key}) in ${fields} && (!(${key} in ${before}) || ${inNow} != ${inBefore})${within})`;
}

/**
 * Times have whole seconds: in the second of a write by Marina, the entry of a writer that names no manager and calls itself
 * Marina looks like Marina's. Who sets a value takes it from every other entry, so that an entry that has it is the writer's.
 */
export const HIDES_BEHIND_OWN_ENTRY = `oldObject != null && !(${MANAGER} && request.options.fieldManager != '') && variables.entries.exists(own, ${isOwnEntry("own")} && own.operation == 'Update' && !has(own.subresource) && has(own.fieldsV1) && 'f:spec' in own.fieldsV1 && ${manages("own.fieldsV1['f:spec']", "variables.spec", "variables.specBefore")})`;

/** The status gets an id that it did not have. */
export const SETS_STATUS_ID = "'id' in variables.status && !('id' in variables.statusBefore)";

/** The subject of a new access is the id of a user. */
export const GRANTS_TO_USER = (uuid: string) =>
  `${CREATES} && 'subject' in variables.spec && variables.spec.subject.lowerAscii().matches('${uuid}')`;
