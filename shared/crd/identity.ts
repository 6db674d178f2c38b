import type { ObjectMeta } from "../kube/kind.ts";
import {
  ANNOTATION_IDENTITY,
  GROUP,
  LABEL_ID,
  LABEL_ORG_ID,
  NAMESPACE_PARTS,
  UUID_PATTERN,
  VERSION,
} from "./names.ts";

/** An object with a public id. */
export interface Identified {
  metadata: ObjectMeta;
  status?: object | undefined;
}

/** The id that the status of a Cluster or a NodePool holds. */
function idInStatus({ status }: Identified): string | undefined {
  return (status as { id?: string } | undefined)?.id;
}

/** The public id of an object: by its label, which a manifest that replaces the object may lack, else by its status. */
export function idOf(object: Identified): string | undefined {
  return object.metadata.labels?.[LABEL_ID] ?? idInStatus(object);
}

/** What the records of Marina's API server say of an object's id: it is confirmed as new or known, or refused. */
export type ConfirmationResult =
  /** There is no record of it. */
  | "new"
  /** The object was there before, with this id in this place. */
  | "known"
  /** It is the id of another object. */
  | "refused";

/** How far an object is with its id. */
export type IdentityState =
  /** It has none: the operator gives it one. */
  | "none"
  /** It came with one, which Marina's API server has not confirmed yet. */
  | "unconfirmed"
  /** Marina's API server has answered, and the operator has not acted on it yet. `known` is also what it runs (readIdentity). */
  | ConfirmationResult
  /** The operator has accepted it: its status holds it. */
  | "accepted";

/**
 * `status.id` is written when the id is accepted. A confirmation that a backup brings back must not count, so it names
 * the uid of its object. Only a create by REST, which knows no uid yet, has `new` alone: admission allows that to
 * Marina's programs, with an id as young as the object (`MADE_WITHIN_MS`).
 */
export function identityStateOf(object: Identified): IdentityState {
  const { labels, annotations, uid } = object.metadata;
  if (idInStatus(object) !== undefined) return "accepted";
  const confirmation = annotations?.[ANNOTATION_IDENTITY];
  if (confirmation === "refused") return "refused";
  if (labels?.[LABEL_ID] === undefined) return "none";
  if (confirmation === "new") return isMadeWithId(object) ? "new" : "unconfirmed";
  const [result, confirmedUid] = confirmation?.split(" ") ?? [];
  if (result !== "new" && result !== "known") return "unconfirmed";
  return uid !== undefined && confirmedUid === uid ? result : "unconfirmed";
}

/** The annotation that says this of an object's id. What is refused stays so for every object that has the annotation. */
export function composeConfirmation(result: ConfirmationResult, { metadata }: Identified): string {
  return result === "refused" ? result : `${result} ${metadata.uid}`;
}

/** How far the time in an id may be from the creation of its object: a request is retried by its key for 24 h, and clocks differ. */
export const MADE_WITHIN_MS = 25 * 3_600_000;

function isMadeWithId({ metadata }: Identified): boolean {
  const idAt = idTimeOf(metadata.labels?.[LABEL_ID]);
  return Math.abs(Date.parse(metadata.creationTimestamp ?? "") - idAt) <= MADE_WITHIN_MS;
}

/** An id that is older than its object by more came with it from a backup. */
const GIVEN_WITHIN_MS = 60_000;

/**
 * When an object came back from a backup, by its creation: its id is older than itself, or of another origin. Undefined
 * for one that was made with its id or got it later.
 */
export function findRestoredAt(object: Identified): Date | undefined {
  const createdAt = Date.parse(object.metadata.creationTimestamp ?? "");
  const id = idOf(object);
  if (id === undefined || Number.isNaN(createdAt)) return undefined;
  return idTimeOf(id) >= createdAt - GIVEN_WITHIN_MS ? undefined : new Date(createdAt);
}

/** When an id was made, in ms; NaN for one that does not say it. */
function idTimeOf(id = ""): number {
  const digits = id.replaceAll("-", "");
  // RFC 9562, 5.7: the first 48 bits are the time in ms, then comes the version.
  return digits[12] === "7" ? Number.parseInt(digits.slice(0, 12), 16) : Number.NaN;
}

const POLICY_NAME = "identity.cloud.marina.dev";

const labelOf = (object: string, label: string) =>
  `(has(${object}.metadata.labels) && '${label}' in ${object}.metadata.labels ? ${object}.metadata.labels['${label}'] : '')`;

/** The status holds the id: a manifest without the labels may replace the object, and the operator sets them again. */
const STATUS_HAS_ID = `has(oldObject.status) && has(oldObject.status.id)`;

function identityRules(label: string) {
  const now = labelOf("object", label);
  const before = labelOf("oldObject", label);
  return [
    {
      expression: `!has(object.metadata.labels) || !('${label}' in object.metadata.labels) || ${now}.matches('${UUID_PATTERN}')`,
      message: `metadata.labels[${label}]: must be a UUID in lower case`,
      reason: "Invalid",
    },
    {
      expression: `oldObject == null || ${before} == '' || ${now} == ${before} || ${now} == '' && ${STATUS_HAS_ID}`,
      message: `metadata.labels[${label}]: cannot be changed once it is set`,
      reason: "Invalid",
    },
  ];
}

/**
 * The ValidatingAdmissionPolicy with its binding: the labels of the public id and the organization's id are lower-case
 * UUIDs, and never get another value. A CRD schema cannot validate labels.
 */
export function buildIdentityPolicy() {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: POLICY_NAME },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [GROUP],
              apiVersions: [VERSION],
              operations: ["CREATE", "UPDATE"],
              resources: ["clusters", "nodepools", "clusteraccesses", "storageinventories"],
            },
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: NAMESPACE_PARTS,
            },
          ],
        },
        validations: [LABEL_ID, LABEL_ORG_ID].flatMap(identityRules),
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: POLICY_NAME },
      spec: { policyName: POLICY_NAME, validationActions: ["Deny"] },
    },
  ];
}
