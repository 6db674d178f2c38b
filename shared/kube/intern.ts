import type { KubeObject } from "./kind.ts";

/** Words in use at a time; when there are more, most of them were used once. */
const MAX_WORDS = 40_000;

const words = new Map<string, string>();

interface Conditioned {
  status?: { conditions?: Record<string, unknown>[] };
}

/**
 * Has an object share the text of its kind, its namespace, its labels, its owners and its conditions with every other one,
 * in place: the same few names, reasons and sentences stand in each of tens of thousands.
 */
export function internWords(object: KubeObject): void {
  object.apiVersion = intern(object.apiVersion);
  object.kind = intern(object.kind);
  const { namespace, labels, ownerReferences } = object.metadata;
  if (namespace !== undefined) object.metadata.namespace = intern(namespace);
  internValues(labels);
  ownerReferences?.forEach(internValues);
  const conditions = (object as Conditioned).status?.conditions;
  if (Array.isArray(conditions)) conditions.forEach(internValues);
}

function internValues(values: object | undefined): void {
  // A frozen one is shared as a whole already.
  if (values === undefined || Object.isFrozen(values)) return;
  const record = values as Record<string, unknown>;
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (typeof value === "string") record[name] = intern(value);
  }
}

function intern(text: string): string {
  const known = words.get(text);
  if (known !== undefined) return known;
  if (words.size >= MAX_WORDS) words.clear();
  words.set(text, text);
  return text;
}
