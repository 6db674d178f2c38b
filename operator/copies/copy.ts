import { hashOf } from "../../shared/controller/applied.ts";
import {
  applyPlan,
  composePlan,
  type PlanContext,
  type Step,
  StepError,
} from "../../shared/controller/plan.ts";
import type { JsonPatchOperation, KubeClient } from "../../shared/kube/client.ts";
import type { ConfigMap, Namespace, Secret } from "../../shared/kube/core-kinds.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../shared/kube/kind.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { RunContext } from "../caches.ts";

const DIGEST = "digest";
const COPY = "copy";

/** What is copied from a Namespace of the platform into those of organizations. */
export type Copied = Secret | ConfigMap;

/**
 * The object with a digest in place of its content, which is kept in no cache, nor are annotations: kubectl's holds the content
 * that it applied.
 */
export function trimToDigest<T extends Copied>(object: T, digest = hashContent(object)): T {
  const { apiVersion, kind } = object;
  const { annotations: _, ...metadata } = object.metadata;
  const type = typeOf(object);
  return {
    apiVersion,
    kind,
    metadata,
    ...(type !== undefined && { type }),
    data: { [DIGEST]: digest },
  } as Copied as T;
}

function hashContent(object: Copied): string {
  return hashOf({ type: typeOf(object), data: object.data ?? {} });
}

/** The digest of an object that `trimToDigest` made. */
export function digestOf(object: Copied): string {
  return object.data?.[DIGEST] ?? "";
}

/** The type of a Secret; undefined for a ConfigMap. */
export function typeOf(object: Copied): string | undefined {
  return "type" in object ? object.type : undefined;
}

/** The copy in this Namespace, marked with this label. */
export function composeCopy<T extends Copied>(
  kind: Kind<T>,
  source: T,
  { namespace, label }: { namespace: string; label: string },
): KubeObject {
  const { metadata, data } = source;
  const type = typeOf(source);
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name: metadata.name, namespace, labels: markOfCopy(label) },
    ...(type !== undefined && { type }),
    ...(data !== undefined && { data }),
  };
}

/** Whether an object has the label of a copy: every other one is left as it is. */
export function isCopy({ metadata }: KubeObject, label: string): boolean {
  return metadata.labels?.[label] === COPY;
}

/** Whether a change is one of a copy, which concerns its own Namespace alone: the object is one and was none other before. */
export function isOfCopy({ previous, object }: Change<KubeObject>, label: string): boolean {
  return isCopy(object, label) && (previous === undefined || isCopy(previous, label));
}

/** The label that marks a copy. */
export function markOfCopy(label: string): Record<string, string> {
  return { [label]: COPY };
}

/**
 * Replaces all data of a copy, keys that another client has added included. Tested, so that an object that has taken the place of
 * the copy meanwhile, or is none any more, is never overwritten.
 */
function composeReplacement(
  { metadata }: Copied,
  { data = {} }: Copied,
  label: string,
): JsonPatchOperation[] {
  return [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "test", path: `/metadata/labels/${label.replaceAll("/", "~1")}`, value: COPY },
    { op: "add", path: "/data", value: data },
  ];
}

/** What is to be done with the copies of one kind in one Namespace. */
export interface CopyChanges<T extends Copied> {
  /** The names of those that are missing. */
  create: string[];
  /** Those whose content is another than that of their source. */
  replace: T[];
  remove: T[];
}

export interface CopyWriting<T extends Copied> {
  client: Pick<KubeClient, "get">;
  kind: Kind<T>;
  label: string;
  /** The Namespace of the copies. */
  namespace: Namespace;
  /** The Namespace of the source of this name. */
  sourceOf: (name: string) => string;
}

/** A copy that was not written. */
export interface CopyFailure {
  name: string;
  /** An object that is no copy has its name. */
  isForeign: boolean;
  /** For the log, with the name. */
  message: string;
}

/**
 * Removes, replaces and creates copies, each one on its own. An object of that name that is no copy stays as it is. Resolves with
 * those that were not written; rejects with the StepError of a Namespace that is being deleted.
 */
export async function writeCopies<T extends Copied>(
  { client, label, namespace, sourceOf, ...writing }: CopyWriting<T>,
  { create, replace, remove }: CopyChanges<T>,
  context: RunContext,
): Promise<CopyFailure[]> {
  const kind = writing.kind as Kind<KubeObject>;
  const key = namespace.metadata.name;
  // The cache of the copies shows these writes, and enqueues the key again.
  const written: PlanContext<Namespace> = { ...context, kind: namespaceKind, onWritten: () => undefined };
  const failures: CopyFailure[] = [];
  const attempt = async (name: string, compose: (source: T) => Step) => {
    const { signal } = context;
    try {
      const source = await client.get(writing.kind, sourceOf(name), name, { signal });
      const write = source === undefined ? [] : [compose(source)];
      await applyPlan(written, namespace, composePlan({ write }));
    } catch (error) {
      const cause = error instanceof StepError && error.cause instanceof KubeError ? error.cause : undefined;
      if (cause?.isNamespaceTerminating === true) throw error;
      const found = cause?.isConflict === true ? await client.get(kind, key, name, { signal }) : undefined;
      if (found === undefined)
        failures.push({ name, isForeign: false, message: `${name}: ${messageOf(error)}` });
      // A copy that the cache does not show yet is looked at when it does.
      else if (!isCopy(found, label))
        failures.push({ name, isForeign: true, message: `${name}: there is one that is no copy; remove it` });
    }
  };

  const removing = remove.map(
    ({ metadata: { name, uid } }): Step => ({ verb: "delete", kind, namespace: key, name, uid }),
  );
  await applyPlan(written, namespace, composePlan({ remove: removing }));
  for (const copy of replace) {
    const { name } = copy.metadata;
    await attempt(name, (source) => {
      return {
        verb: "patch",
        kind,
        namespace: key,
        name,
        operations: composeReplacement(copy, source, label),
      };
    });
  }
  for (const name of create)
    await attempt(name, (source) => {
      const object = composeCopy(writing.kind, source, { namespace: key, label });
      return { verb: "apply", kind, object, isNew: true };
    });
  return failures;
}
