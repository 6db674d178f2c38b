import { z } from "zod";
import { defineKind, type ObjectMeta } from "../kube/kind.ts";
import { conditionsSchema } from "./conditions.ts";
import { integer, objectName, statusGenerationSchema, timestamp } from "./fields.ts";
import { findRestoredAt, identityStateOf } from "./identity.ts";
import { ANNOTATION_IDENTITY, GROUP, UUID_PATTERN, VERSION } from "./names.ts";
import { type TransitionRule, withRules } from "./rule.ts";

export const clusterAccessConditionTypes = ["Ready", "Reconciling", "Stalled"] as const;
export type ClusterAccessConditionType = (typeof clusterAccessConditionTypes)[number];

export const MIN_ACCESS_TTL_SECONDS = 600;
export const MAX_ACCESS_TTL_SECONDS = 604_800;

const clusterAccessFields = z
  .object({
    clusterName: objectName("Name of the Cluster, in the same namespace."),
    subject: z
      .string()
      .min(1)
      .max(253)
      .regex(/^[A-Za-z0-9][A-Za-z0-9@._+-]*$/)
      .meta({
        description:
          "The user's id; of an access by kubectl the e-mail address of a member, or a name that is no person's. It becomes the user name in the cluster.",
      }),
    ttlSeconds: integer(
      MIN_ACCESS_TTL_SECONDS,
      MAX_ACCESS_TTL_SECONDS,
      "Lifetime of the access in seconds, from ten minutes to seven days.",
    ),
    notAfter: timestamp("The access ends at this time at the latest, whatever its lifetime.").optional(),
    csr: z
      .string()
      .min(1)
      .max(8192)
      .regex(
        /^-----BEGIN CERTIFICATE REQUEST-----\r?\n[A-Za-z0-9+/=\r\n]+-----END CERTIFICATE REQUEST-----\s*$/,
      )
      .meta({
        description: "Certificate signing request in PEM form. The private key stays with its creator.",
      }),
  })
  .meta({ description: "Requested access. Immutable." });

export const clusterAccessTransitionRules: readonly TransitionRule<z.output<typeof clusterAccessFields>>[] = [
  {
    field: "",
    code: "immutable",
    message: "an access cannot be changed; delete it and create another",
    cel: "self == oldSelf",
    holds: (spec, old) =>
      spec.clusterName === old.clusterName &&
      spec.subject === old.subject &&
      spec.ttlSeconds === old.ttlSeconds &&
      spec.notAfter === old.notAfter &&
      spec.csr === old.csr,
  },
];

export const clusterAccessSpecSchema = withRules(clusterAccessFields, [], clusterAccessTransitionRules);

export const clusterAccessStatusSchema = z
  .object({
    observedGeneration: statusGenerationSchema.optional(),
    conditions: conditionsSchema(clusterAccessConditionTypes).optional(),
    certificate: z.string().max(16_384).optional().meta({
      description: "The signed certificate in PEM form, followed by the certificates of its issuers.",
    }),
    tokenSecretName: z.string().max(253).optional().meta({
      description:
        "The Secret, in the same namespace, that holds a token under the key token: of a cluster whose control plane signs no certificate for the request.",
    }),
    expiresAt: timestamp("When the access expires.").optional(),
  })
  .meta({ description: "Observed state of the access. Written by the operator." });

export type ClusterAccessSpec = z.output<typeof clusterAccessSpecSchema>;
export type ClusterAccessStatus = z.output<typeof clusterAccessStatusSchema>;
export interface ClusterAccess {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: ClusterAccessSpec;
  status?: ClusterAccessStatus;
}

export const clusterAccessKind = defineKind<ClusterAccess>({
  group: GROUP,
  version: VERSION,
  kind: "ClusterAccess",
  plural: "clusteraccesses",
  namespaced: true,
});

/** The Kubernetes group of one access, by its public id. */
export function nameAccessGroup(accessId: string): string {
  return `cloud.marina.dev:access:${accessId}`;
}

/** Whether there is a certificate, or a token where the control plane signs none. */
export function isIssued({ status }: Pick<ClusterAccess, "status">): boolean {
  return status?.certificate !== undefined || status?.tokenSecretName !== undefined;
}

const USER_ID = new RegExp(UUID_PATTERN);

/** Whether a subject is the id of a user of Marina, however it is spelled. */
export function isUserId(subject: string): boolean {
  return USER_ID.test(subject.toLowerCase());
}

/**
 * Whether a subject names a person, by the id of a user or an e-mail address: Marina's API server knows whether it is a
 * member.
 */
export function namesPerson(subject: string): boolean {
  return isUserId(subject) || subject.includes("@");
}

/**
 * The annotation of an access that may be issued. It names the object, so that it says nothing of another one from a
 * backup.
 */
export function composeAccessConfirmation(
  { metadata }: Pick<ClusterAccess, "metadata">,
  endsAt?: Date,
): string {
  return ["known", metadata.uid, ...(endsAt === undefined ? [] : [endsAt.toISOString()])].join(" ");
}

/** What the annotation says of this very object: that it may be issued, and when it ends at the latest. */
function readAccessConfirmation({
  metadata,
}: Pick<ClusterAccess, "metadata">): { endsAt?: string } | undefined {
  const [result, uid, endsAt] = metadata.annotations?.[ANNOTATION_IDENTITY]?.split(" ") ?? [];
  if (result !== "known" || uid === undefined || uid !== metadata.uid) return undefined;
  return endsAt === undefined ? {} : { endsAt };
}

/** Whether an access has a confirmation for this very object, which stays on it. */
export function hasConfirmation(access: Pick<ClusterAccess, "metadata">): boolean {
  return readAccessConfirmation(access) !== undefined;
}

/**
 * Whether an access may be issued. One that names a person, and one that came with an id as from a backup, waits for
 * the confirmation of Marina's API server, whose records know the members and what has ended. What was issued needs no
 * confirmation, unless its status came from a backup, too.
 */
export function confirmationOf(access: ClusterAccess): "confirmed" | "unconfirmed" | "refused" {
  if (hasConfirmation(access)) return "confirmed";
  if (isIssued(access) && findRestoredAt(access) === undefined) return "confirmed";
  const state = identityStateOf(access);
  if (state === "refused") return "refused";
  const isNew = state === "new" || (state === "none" && !namesPerson(access.spec.subject));
  return isNew && !isIssued(access) ? "confirmed" : "unconfirmed";
}

/**
 * When an access ends. Counted from its creation: a lost status never extends it. One from a backup ends when the
 * confirmation of the records says so. A token may end before, when the control plane limits how long tokens live.
 */
export function findExpiry({
  metadata,
  spec,
  status,
}: Pick<ClusterAccess, "metadata" | "spec" | "status">): Date {
  const ends = [Date.parse(metadata.creationTimestamp ?? "") + spec.ttlSeconds * 1000];
  if (spec.notAfter !== undefined) ends.push(Date.parse(spec.notAfter));
  const { endsAt } = readAccessConfirmation({ metadata }) ?? {};
  if (endsAt !== undefined) ends.push(Date.parse(endsAt));
  if (status?.expiresAt !== undefined) ends.push(Date.parse(status.expiresAt));
  return new Date(Math.min(...ends));
}
