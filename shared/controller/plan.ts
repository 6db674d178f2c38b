import type { JsonPatchOperation, KubeClient } from "../kube/client.ts";
import { KubeError } from "../kube/errors.ts";
import type { Kind, KubeObject } from "../kube/kind.ts";
import { messageOf } from "../program/errors.ts";
import type { RecordedEvent, Recorder } from "./recorder.ts";

/** One change of another object. */
export type Step = Operation & {
  /** What the change means to people: recorded once it is made, for no later plan knows of it. */
  event?: RecordedEvent;
};

type Operation =
  /**
   * Server-side apply, forced: the object is ours. With `isNew` it only creates: an object that exists by then, of any
   * owner, stays unchanged, and the step fails with a conflict. With a `uid` it only changes the object that has it, and fails
   * with a conflict when there is none or another one.
   */
  | { verb: "apply"; kind: Kind<KubeObject>; object: KubeObject; isNew?: boolean; uid?: string | undefined }
  /** Fails with AlreadyExists when the object exists: a lock. */
  | { verb: "create"; kind: Kind<KubeObject>; object: KubeObject }
  | {
      verb: "patch";
      kind: Kind<KubeObject>;
      namespace: string;
      name: string;
      operations: JsonPatchOperation[];
    }
  /** A missing object counts as deleted; one with another uid is a conflict. */
  | { verb: "delete"; kind: Kind<KubeObject>; namespace: string; name: string; uid: string | undefined };

/** A step failed; `cause` is the KubeError. Distinguishes an error of a child from one of the object itself. */
export class StepError extends Error {
  override readonly name = "StepError";
  readonly step: Step;

  constructor(step: Step, cause: unknown) {
    super(`${step.verb} ${step.kind.plural}: ${messageOf(cause)}`, {
      cause,
    });
    this.step = step;
  }
}

/** What a reconcile decided, in the order in which it is applied. A step that was made already changes nothing, or is a conflict. */
export interface Plan<Status> {
  /** A change of the object's own metadata, made before anything else is written; undefined = none. */
  metadata: MetadataChange | undefined;
  write: Step[];
  remove: Step[];
  /** The whole status; undefined = unchanged. */
  status: Status | undefined;
  events: RecordedEvent[];
  /** Removes the finalizer, last of all: nothing is left of what the object stood for. */
  releaseFinalizer: boolean;
  requeueAfterMs: number | undefined;
}

/** A plan with these parts; the rest is empty. */
export function composePlan<Status>(parts: Partial<Plan<Status>> = {}): Plan<Status> {
  return {
    metadata: undefined,
    write: [],
    remove: [],
    status: undefined,
    events: [],
    releaseFinalizer: false,
    requeueAfterMs: undefined,
    ...parts,
  };
}

/** Labels and annotations are merged; the finalizer is added to the existing ones. */
export interface MetadataChange {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  /** Annotations to remove. */
  dropAnnotations?: readonly string[];
  finalizer?: string;
  /** What a removed annotation asked for: recorded once this is written, for no later plan knows of it. */
  events?: readonly RecordedEvent[];
}

export interface PlanContext<T extends KubeObject> {
  client: Pick<KubeClient, "apply" | "create" | "mergePatch" | "jsonPatch" | "delete">;
  kind: Kind<T>;
  recorder: Pick<Recorder, "record">;
  finalizer: string;
  fieldManager: string;
  statusFieldManager: string;
  /**
   * The conditions of the status that are the controller's, whichever manager owns them; those of others are left. Default: none.
   */
  conditionTypes?: readonly string[];
  /** After each write that returned an object, so that the cache can be waited for. */
  onWritten(kind: Kind<unknown>, resourceVersion: string): void;
  signal: AbortSignal;
}

/**
 * Applies a plan: metadata, write, remove, status, events, ended conditions, finalizer. Stops at the first failure: a
 * StepError for a step, a KubeError for the object itself, a conflict where the status was decided on an old state. Ends
 * without an error when the object is missing, though its steps may have been made. Applying the same plan again is safe.
 */
export async function applyPlan<T extends KubeObject, Status>(
  context: PlanContext<T>,
  object: T,
  plan: Plan<Status>,
): Promise<void> {
  try {
    const current = await applyMetadata(context, object, plan.metadata);
    await applySteps(context, [...plan.write, ...plan.remove]);
    const written = await applyStatus(context, current, plan.status);
    for (const event of plan.events) context.recorder.record(event);
    if (written !== undefined) await removeEndedConditions(context, written, plan.status);
    if (plan.releaseFinalizer) await releaseFinalizer(context, current);
  } catch (error) {
    // The cache may show an object a moment after it was deleted.
    if (!(error instanceof KubeError && error.isMissingObject)) throw error;
  }
}

async function applySteps<T extends KubeObject>(context: PlanContext<T>, steps: Step[]): Promise<void> {
  for (const step of steps) {
    try {
      await applyStep(context, step);
    } catch (error) {
      throw new StepError(step, error);
    }
    if (step.event !== undefined) context.recorder.record(step.event);
  }
}

async function applyMetadata<T extends KubeObject>(
  context: PlanContext<T>,
  object: T,
  change: MetadataChange | undefined,
): Promise<T> {
  if (change === undefined) return object;
  const { metadata } = object;
  const { labels, annotations, dropAnnotations = [], finalizer, events = [] } = change;
  const changes = { ...annotations, ...Object.fromEntries(dropAnnotations.map((name) => [name, null])) };
  const patch = {
    metadata: {
      resourceVersion: metadata.resourceVersion,
      ...(labels && { labels }),
      ...(Object.keys(changes).length > 0 && { annotations: changes }),
      ...(finalizer && { finalizers: [...(metadata.finalizers ?? []), finalizer] }),
    },
  };
  const { client, kind, fieldManager, signal } = context;
  const options = { fieldManager, signal };
  const written = await client.mergePatch(kind, metadata.namespace, metadata.name, patch, options);
  context.onWritten(kind, written.metadata.resourceVersion ?? "");
  for (const event of events) context.recorder.record(event);
  return written;
}

/** By JSON Patch with a test, so that a concurrent change of another finalizer is never lost. */
async function releaseFinalizer<T extends KubeObject>(context: PlanContext<T>, object: T): Promise<void> {
  const { namespace, name, uid } = object.metadata;
  const index = (object.metadata.finalizers ?? []).indexOf(context.finalizer);
  if (index < 0) return;
  const path = `/metadata/finalizers/${index}`;
  const operations: JsonPatchOperation[] = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path, value: context.finalizer },
    { op: "remove", path },
  ];
  const { client, kind, fieldManager, signal } = context;
  const written = await client.jsonPatch(kind, namespace, name, operations, { fieldManager, signal });
  context.onWritten(kind, written.metadata.resourceVersion ?? "");
}

async function applyStep<T extends KubeObject>(context: PlanContext<T>, step: Step): Promise<void> {
  const { client, signal, fieldManager } = context;
  const options = { fieldManager, signal };
  if (step.verb === "delete") {
    await client.delete(step.kind, step.namespace, step.name, { uid: step.uid, signal });
    return;
  }
  const written =
    step.verb === "apply"
      ? await client.apply(step.kind, withPrecondition(step), { ...options, force: true })
      : step.verb === "create"
        ? await client.create(step.kind, step.object, options)
        : await client.jsonPatch(step.kind, step.namespace, step.name, step.operations, options);
  context.onWritten(step.kind, written.metadata.resourceVersion ?? "");
}

function withPrecondition({ object, isNew, uid }: Step & { verb: "apply" }): KubeObject {
  if (isNew) return asNew(object);
  return uid === undefined ? object : { ...object, metadata: { ...object.metadata, uid } };
}

/** The first version that etcd gives an object is 2, so this one conflicts with every object that exists. */
const VERSION_OF_NO_OBJECT = "1";

/**
 * For an apply that only creates: it fails with a conflict when the object exists. A POST would leave its fields to a
 * second field manager, and an apply without them could not remove them.
 */
export function asNew<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: VERSION_OF_NO_OBJECT } };
}

async function applyStatus<T extends KubeObject, Status>(
  context: PlanContext<T>,
  object: T,
  status: Status | undefined,
): Promise<WrittenObject | undefined> {
  if (status === undefined) return undefined;
  const { namespace, name, uid, resourceVersion } = object.metadata;
  const body: KubeObject & { status: Status } = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
    status,
  };
  const written = await context.client.apply<KubeObject>(context.kind as Kind<KubeObject>, body, {
    fieldManager: context.statusFieldManager,
    force: true,
    subresource: "status",
    signal: context.signal,
  });
  context.onWritten(context.kind, written.metadata.resourceVersion ?? "");
  return written;
}

/** An object as kube-apiserver returned it. */
type WrittenObject = KubeObject & { status?: unknown };

type Conditioned = { conditions?: readonly { type: string }[] } | undefined;

/**
 * An apply removes what its manager owns. Managed fields from a backup do not know what was written since, and a
 * condition that ended would stay for good.
 */
async function removeEndedConditions<T extends KubeObject>(
  context: PlanContext<T>,
  written: WrittenObject,
  desired: unknown,
): Promise<void> {
  const { client, kind, conditionTypes = [], statusFieldManager, signal } = context;
  const isDesired = new Set((desired as Conditioned)?.conditions?.map(({ type }) => type));
  const conditions = (written.status as Conditioned)?.conditions ?? [];
  const ended = [...conditions.entries()].filter(
    ([, { type }]) => conditionTypes.includes(type) && !isDesired.has(type),
  );
  if (ended.length === 0) return;
  // The last first: the others keep their places.
  const operations = ended.toReversed().flatMap(([index, { type }]): JsonPatchOperation[] => [
    { op: "test", path: `/status/conditions/${index}/type`, value: type },
    { op: "remove", path: `/status/conditions/${index}` },
  ]);
  const { namespace, name } = written.metadata;
  const options = { fieldManager: statusFieldManager, subresource: "status" as const, signal };
  const { metadata } = await client.jsonPatch(kind, namespace, name, operations, options);
  context.onWritten(kind, metadata.resourceVersion ?? "");
}
