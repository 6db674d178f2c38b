import { z } from "zod";
import type { ObjectMeta } from "../kube/kind.ts";
import type { Change } from "../kube/reflector.ts";
import { findRestoredAt, type Identified } from "./identity.ts";
import { KUBERNETES_VERSION_PATTERN } from "./kubernetes-version.ts";
import { UUID_PATTERN } from "./names.ts";
import { type Rule, withRules } from "./rule.ts";

/** Limit of nodes per pool; it bounds every counter of nodes and every list of machines. */
export const MAX_NODES_PER_POOL = 1000;

/** Limit of machines in a status: a rollout adds machines to those of the largest pool before it removes others. */
export const MAX_MACHINES_PER_POOL = 1200;
/** Machines of a pool that went within the last day, as many as its status holds. */
export const MAX_GONE_MACHINES = 1000;

/** Limit of `metadata.name`: Cluster API derives names of up to 63 characters from it. */
export const MAX_OBJECT_NAME_LENGTH = 40;
export const OBJECT_NAME_PATTERN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Free text. Its length counts code points, as in the Kubernetes API server, not UTF-16 units. */
export function text(minLength: number, maxLength: number, description: string) {
  return z
    .string()
    .superRefine((value, context) => {
      const length = Array.from(value).length;
      const message = `must have from ${minLength} to ${maxLength} characters`;
      if (length < minLength) context.addIssue({ code: "custom", message, params: { code: "too_short" } });
      if (length > maxLength) context.addIssue({ code: "custom", message, params: { code: "too_long" } });
    })
    .meta({ description, minLength, maxLength });
}

/** Why an object is not deleted, and the next step; REST puts its own name in the place of that of the setting. */
export function describeDeletionProtection(noun: string, name: string): string {
  return `The ${noun} ${name} is protected from deletion: set spec.deletionProtection to false first.`;
}

/** Whether no deletion of an object is accepted. */
export function deletionProtection(noun: string) {
  return z
    .boolean()
    .optional()
    .meta({
      description: `Whether no deletion of the ${noun} is accepted, by whichever way: set it to false first. Absent means false.`,
    });
}

/** A Cluster or NodePool, as far as its protection from deletion needs it. */
export interface Protectable {
  metadata: Pick<ObjectMeta, "name" | "namespace" | "deletionTimestamp">;
  spec?: { deletionProtection?: boolean | undefined; clusterName?: string };
}

/** How the label of the Namespace names a node pool. */
export const NODE_POOL_PREFIX = "node-pool.";
const CLUSTER_PREFIX = "cluster.";

/** Whether deletions of the object are refused, and so is that of its Namespace. One that is being deleted is not protected any more. */
export function isProtected({ metadata, spec }: Protectable): boolean {
  return spec?.deletionProtection === true && metadata.deletionTimestamp === undefined;
}

/** The value of LABEL_PROTECTED that names an object: `cluster.<name>` or `node-pool.<name>`, at most 50 characters. */
export function nameProtected({ metadata, spec }: Protectable): string {
  return `${spec?.clusterName === undefined ? CLUSTER_PREFIX : NODE_POOL_PREFIX}${metadata.name}`;
}

/** The object that a value of LABEL_PROTECTED names. */
export function readProtectedLabel(label: string): { noun: "cluster" | "node pool"; name: string } {
  return label.startsWith(NODE_POOL_PREFIX)
    ? { noun: "node pool", name: label.slice(NODE_POOL_PREFIX.length) }
    : { noun: "cluster", name: label.slice(CLUSTER_PREFIX.length) };
}

/**
 * The value of LABEL_PROTECTED for a Namespace with these protected objects: what it is as long as it names one of them, else a
 * cluster before a node pool. Undefined = no label.
 */
export function chooseProtectedLabel(
  current: string | undefined,
  objects: readonly Protectable[],
): string | undefined {
  const names = objects.filter(isProtected).map(nameProtected).sort();
  return current !== undefined && names.includes(current) ? current : names[0];
}

export function integer(minimum: number, maximum: number, description: string) {
  return wholeNumber(minimum, maximum).meta({ description });
}

/** A whole number whose messages name both bounds. */
export function wholeNumber(minimum: number, maximum: number) {
  const error = `must be a whole number from ${minimum} to ${maximum}`;
  return z.int({ error }).min(minimum, { error }).max(maximum, { error });
}

/** An RFC 3339 time; kube-apiserver validates the format. */
export function timestamp(description: string) {
  return z.string().max(64).meta({ description, format: "date-time" });
}

/** The `metadata.name` of another Marina object in the same namespace. */
export function objectName(description: string) {
  return z.string().min(1).max(MAX_OBJECT_NAME_LENGTH).regex(OBJECT_NAME_PATTERN).meta({ description });
}

/** `MAJOR.MINOR.PATCH` or `MAJOR.MINOR`, with or without a leading `v`. */
export function kubernetesVersion(description: string) {
  return z.string().min(1).max(16).regex(KUBERNETES_VERSION_PATTERN).meta({ description });
}

/** A CamelCase reason for programs. */
export function reason(description: string) {
  return z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .meta({ description });
}

/**
 * A name is one line of text that people read as it is stored: not blank, without control characters, line separators
 * and the marks that change the direction of text (Unicode Bidi_Control, UAX #9). Joiners belong to words of many
 * languages.
 */
export const readableNameRule: Rule<string> = {
  field: "",
  code: "invalid_format",
  message: "must be one line that is not blank, without control characters and marks of text direction",
  cel: [
    "self.matches('[^\\\\p{Z}\\\\p{Cc}\\\\p{Cf}]')",
    "!self.matches('[\\\\p{Cc}\\\\p{Zl}\\\\p{Zp}\\\\x{061c}\\\\x{200e}\\\\x{200f}\\\\x{202a}-\\\\x{202e}\\\\x{2066}-\\\\x{2069}]')",
  ].join(" && "),
  holds: (name) => /[^\p{Z}\p{Cc}\p{Cf}]/u.test(name) && !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(name),
};

export const displayNameSchema = withRules(
  text(1, 63, "Display name, also used by the REST API. Mutable. Defaults to metadata.name."),
  [readableNameRule],
);

export const observedGenerationSchema = integer(
  0,
  Number.MAX_SAFE_INTEGER,
  "The metadata.generation that this status was computed from. While it is smaller, the status describes an older spec.",
);

/**
 * The default status of a new object. Without it kstatus (Flux, kpt) would report a new object as current, because it
 * has no conditions.
 */
export const UNOBSERVED_STATUS = { observedGeneration: -1 };

/** `observedGeneration` of the whole status. */
export const statusGenerationSchema = integer(
  UNOBSERVED_STATUS.observedGeneration,
  Number.MAX_SAFE_INTEGER,
  "The metadata.generation that this status was computed from. While it is smaller, the status describes an older spec; -1 before the first reconciliation.",
);

/** `id` of a status. */
export const statusIdSchema = z.string().max(36).regex(new RegExp(UUID_PATTERN)).meta({
  description:
    "Public id of the object, as in its label cloud.marina.dev/id. It never changes: from it the label is set again when a manifest without it replaces the object.",
});

/** Limit of transitions in a status; the oldest is dropped. */
export const MAX_TRANSITIONS = 16;

export const transitionSequenceSchema = integer(
  1,
  Number.MAX_SAFE_INTEGER,
  "Sequence number of the transition, increasing by one.",
);

/** RFC 3339 as every reader of it understands it: the format alone lets offsets pass that are no time. */
const TIME = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** When an object is deleted by itself. */
export function expiresAt(noun: string) {
  return z
    .string()
    .max(64)
    .regex(TIME, "must be a time as 2030-01-31T18:00:00Z")
    .optional()
    .meta({
      description: `When the ${noun} is deleted by itself, unless spec.deletionProtection is true then. Nothing is made of a ${noun} that is created later. Absent means never.`,
      format: "date-time",
    });
}

/** Whether the end date has passed. Without one, and with one that is no time, it never has. */
export function isExpired({ expiresAt: end }: { expiresAt?: string | undefined }, now: Date): boolean {
  return end !== undefined && Date.parse(end) <= now.getTime();
}

/** Whether an object came back from a backup after its end date, which may have been moved since: the old date does not delete it. */
export function isRestoredAfterExpiry(
  object: Identified & { spec: { expiresAt?: string | undefined } },
): boolean {
  const restoredAt = findRestoredAt(object);
  return restoredAt !== undefined && isExpired(object.spec, restoredAt);
}

/** Whether both are the same moment, however it is written, or neither is there. */
export function isSameExpiry(one: string | undefined, other: string | undefined): boolean {
  return one === other || Date.parse(one ?? "") === Date.parse(other ?? "");
}

/** Whether a change begins or ends the protection of an object; no other asks what is protected in its Namespace. */
export function changesProtection({
  type,
  object,
  previous,
}: Pick<Change<Protectable>, "type" | "object" | "previous">): boolean {
  const before = previous ?? (type === "deleted" ? object : undefined);
  const isProtectedNow = type !== "deleted" && isProtected(object);
  return isProtectedNow !== (before !== undefined && isProtected(before));
}
