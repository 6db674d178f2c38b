import {
  ANNOTATION_AUTHORIZED_CIDRS,
  ANNOTATION_DELETE_MISSING_POOLS,
  ANNOTATION_HOLD,
  ANNOTATION_IDENTITY,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_RECREATE,
  ANNOTATION_RELEASE,
  ANNOTATION_REPLACE_PREFIX,
  ANNOTATION_REQUEST_ID,
  ANNOTATION_UPGRADE_FORCE,
  FINALIZER,
  HOLDER_LABELS,
  LABEL_ID,
  LABEL_ORG_ID,
  MANAGER_OPERATOR_STATUS,
  MANAGER_PREFIX,
  UUID_PATTERN,
} from "../names.ts";
import {
  anyOf,
  CHANGES_MANAGERS_ALONE,
  CREATES,
  changes,
  DELETES_WITHOUT_FINALIZER,
  GRANTS_TO_USER,
  HIDES_BEHIND_OWN_ENTRY,
  KUBECTL_MANAGERS_OF_SCALE,
  MAKES_ID,
  NAMES_MANAGER_OF_SCALE,
  NAMES_OWN_MANAGER,
  OVERFILLS_ENTRIES,
  OVERFILLS_METADATA,
  REMOVES_FINALIZER,
  RESETS_MANAGERS,
  removes,
  renumbers,
  rewrites,
  SETS_IDENTITY,
  SETS_STATUS_ID,
  sets,
  setsPrefix,
  switches,
  WRITES_OWN_ENTRY,
} from "./cel.ts";

export type ReservedResource = "clusters" | "nodepools" | "clusteraccesses" | "storageinventories";

/** What only some may write. Marina's own programs may write all of it. */
export interface ReservedWrite {
  /** In Markdown. */
  what: string;
  resources: readonly ReservedResource[];
  /** Which requests: that write the object itself, its status, any part of it; or that delete it. */
  on: "object" | "status" | "any part" | "deletion";
  /** CEL: whether the request writes it, by the variables of cel.ts. */
  writes: string;
  /** Holders of `update` on this subresource of the resource may write it, too; undefined = no other user. */
  right?: string;
  /** When they may; undefined = always. */
  holders?: { cel: string; when: string };
  /** For whom it is refused: what is wrong, and what to do. */
  message: string;
}

const FINALIZED: readonly ReservedResource[] = ["clusters", "nodepools", "clusteraccesses"];
const IDENTIFIED: readonly ReservedResource[] = [...FINALIZED, "storageinventories"];
const BOOKKEEPING = [
  ANNOTATION_REQUEST_ID,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_IDENTITY,
  ANNOTATION_AUTHORIZED_CIDRS,
];
const RECOVERY = [ANNOTATION_RECREATE, ANNOTATION_RELEASE, ANNOTATION_DELETE_MISSING_POOLS];

/** Who changes an object that has all entries of field managers: the rights of engineers. */
const WRITERS_BEYOND: readonly [readonly ReservedResource[], right?: string][] = [
  [["clusters"], "suspension"],
  [["nodepools"], "replacement"],
  [["clusteraccesses", "storageinventories"]],
];

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

/** Everything that is reserved, in the order of the documentation. */
export const reservations: readonly ReservedWrite[] = [
  {
    what: `the labels ${code([LABEL_ID, LABEL_ORG_ID])}, where the object has none`,
    resources: IDENTIFIED,
    on: "object",
    writes: SETS_IDENTITY,
    right: "identity",
    message: `metadata.labels[${LABEL_ID}] and [${LABEL_ORG_ID}] are given by Marina: leave them out; a backup is restored with the role marina-restore`,
  },
  {
    what: "`status.id`",
    resources: IDENTIFIED,
    on: "status",
    writes: SETS_STATUS_ID,
    right: "identity",
    message: "status.id is given by Marina: leave it out",
  },
  {
    what: `the annotations ${code(BOOKKEEPING)}`,
    resources: IDENTIFIED,
    on: "object",
    writes: anyOf(...BOOKKEEPING.map((name) => sets("annotations", name))),
    right: "identity",
    holders: { cel: CREATES, when: "when they create the object" },
    message: `the annotations ${BOOKKEEPING.join(", ")} are set by Marina alone: leave them out; a backup is restored with the role marina-restore`,
  },
  {
    what: `the annotation \`${ANNOTATION_IDENTITY}\` of a new object with the value \`new\`, unless the object comes with an id that is more than a day older`,
    resources: FINALIZED,
    on: "object",
    writes: MAKES_ID,
    right: "new-identity",
    message: `the value new of metadata.annotations[${ANNOTATION_IDENTITY}] is set by Marina alone: leave it out, also of what is restored`,
  },
  {
    what: `the field managers \`${MANAGER_PREFIX}*\``,
    resources: IDENTIFIED,
    on: "any part",
    writes: NAMES_OWN_MANAGER,
    message: `field managers whose name begins with ${MANAGER_PREFIX} are Marina's own: use another --field-manager`,
  },
  {
    what: `entries of \`${MANAGER_PREFIX}*\` in \`metadata.managedFields\``,
    resources: IDENTIFIED,
    on: "any part",
    writes: WRITES_OWN_ENTRY,
    right: "identity",
    holders: {
      cel: anyOf(CREATES, `(${CHANGES_MANAGERS_ALONE})`),
      when: "when they create the object, or change nothing else",
    },
    message: `field managers whose name begins with ${MANAGER_PREFIX} are Marina's own: use another --field-manager, or another User-Agent, and send metadata.managedFields as they are or not at all`,
  },
  {
    what: `the removal of all \`metadata.managedFields\`, or of the entry of \`${MANAGER_OPERATOR_STATUS}\``,
    resources: IDENTIFIED,
    on: "any part",
    writes: RESETS_MANAGERS,
    right: "identity",
    message: "metadata.managedFields say who has set what, and are not reset: leave them out",
  },
  {
    what: "additions beyond 64 labels, 16 finalizers, 8 owner references, or 65,536 characters of annotations that are not reserved",
    resources: IDENTIFIED,
    on: "object",
    writes: OVERFILLS_METADATA,
    message:
      "metadata has at most 64 labels, 16 finalizers, 8 owner references and 65,536 characters of annotations: keep other data in an object of your own",
  },
  ...WRITERS_BEYOND.map(
    ([resources, right]): ReservedWrite => ({
      what: `additions beyond 65,536 characters of other field managers' \`metadata.managedFields\` of ${code(resources)}`,
      resources,
      on: "object",
      writes: OVERFILLS_ENTRIES,
      ...(right !== undefined && {
        right,
        holders: { cel: "oldObject != null", when: "when they change the object" },
      }),
      message: "at most 65,536 characters of managedFields are not Marina's: use one --field-manager",
    }),
  ),
  {
    what: `a named field manager in a change of \`nodepools/scale\`, but ${code(KUBECTL_MANAGERS_OF_SCALE)}`,
    resources: ["nodepools"],
    on: "any part",
    writes: NAMES_MANAGER_OF_SCALE,
    message: "a pool is scaled without --field-manager: leave it out, or set spec.desiredNodes",
  },
  {
    what: "changes of the spec under no named field manager by a program that calls itself as one of Marina's, in the second of a change by Marina",
    resources: IDENTIFIED,
    on: "object",
    writes: HIDES_BEHIND_OWN_ENTRY,
    message:
      "Marina has changed this object in the same second, and this change would look like its own: name a field manager",
  },
  {
    what: `the removal of the finalizer \`${FINALIZER}\` from an object that is being deleted`,
    resources: FINALIZED,
    on: "object",
    writes: REMOVES_FINALIZER,
    right: "finalizer",
    message: `the finalizer ${FINALIZER} is removed by Marina when nothing of the object is left: wait, status.message says for what`,
  },
  {
    what: `the deletion of an object that has an id or was observed, and that lacks the finalizer \`${FINALIZER}\``,
    resources: FINALIZED,
    on: "deletion",
    writes: DELETES_WITHOUT_FINALIZER,
    right: "finalizer",
    message: `the finalizer ${FINALIZER} is missing, which Marina adds again: try again in a moment`,
  },
  {
    what: "`spec.suspend`",
    resources: ["clusters"],
    on: "object",
    writes: switches("suspend"),
    right: "suspension",
    message:
      "spec.suspend is set by the platform: leave it as it is, also in a manifest that replaces the object, or ask the platform's operator",
  },
  {
    what: "`spec.controlPlaneReplicas`",
    resources: ["clusters"],
    on: "object",
    writes: renumbers("controlPlaneReplicas"),
    right: "control-plane",
    message:
      "spec.controlPlaneReplicas is set by the platform, whose plans decide it: leave it as it is, also in a manifest that replaces the object",
  },
  {
    what: "`spec.credentialsGeneration` of an existing cluster",
    resources: ["clusters"],
    on: "object",
    writes: `oldObject != null && ${renumbers("credentialsGeneration")}`,
    right: "credentials",
    message:
      "spec.credentialsGeneration is raised by Marina: leave it as it is; to revoke the admin kubeconfigs, rotate the credentials by the API",
  },
  {
    what: "`spec.credentialsGeneration` above 0 of a new cluster",
    resources: ["clusters"],
    on: "object",
    writes: `${CREATES} && ${renumbers("credentialsGeneration")}`,
    right: "identity",
    message:
      "spec.credentialsGeneration of a new cluster is 0: leave it out; a backup is restored with the role marina-restore",
  },
  {
    what: `the annotations \`${ANNOTATION_REPLACE_PREFIX}<node>\``,
    resources: ["nodepools"],
    on: "object",
    writes: setsPrefix("annotations", ANNOTATION_REPLACE_PREFIX),
    right: "replacement",
    message: `metadata.annotations[${ANNOTATION_REPLACE_PREFIX}<node>] replaces a node, which the platform's engineers do: have it replaced by the API, or ask the platform's operator`,
  },
  {
    what: `the annotations ${code(RECOVERY)}`,
    resources: ["clusters"],
    on: "object",
    writes: anyOf(...RECOVERY.map((annotation) => sets("annotations", annotation))),
    right: "recovery",
    message: `the annotations ${RECOVERY.join(", ")} decide about infrastructure, which the platform's engineers do: ask the platform's operator`,
  },
  {
    what: `the annotation \`${ANNOTATION_UPGRADE_FORCE}\``,
    resources: ["clusters"],
    on: "object",
    writes: sets("annotations", ANNOTATION_UPGRADE_FORCE),
    right: "upgrade",
    message: `metadata.annotations[${ANNOTATION_UPGRADE_FORCE}] upgrades a cluster whatever checks find: solve what blocks the upgrade, force it by the API, or have clusters/upgrade granted by the platform's operator`,
  },
  {
    what: `the annotation \`${ANNOTATION_HOLD}\``,
    resources: ["clusters"],
    on: "object",
    writes: changes("annotations", ANNOTATION_HOLD),
    right: "hold",
    message: `metadata.annotations[${ANNOTATION_HOLD}] is set by the platform: leave it as it is, also in a manifest that replaces the object, or ask the platform's operator`,
  },
  {
    what: "`spec.registration`",
    resources: ["clusters"],
    on: "object",
    writes: rewrites("registration"),
    right: "registration",
    message:
      "spec.registration hands out credentials of the cluster: leave it as it is, also in a manifest that replaces the object, or have clusters/registration granted by the platform's operator",
  },
  {
    what: `the labels ${code(HOLDER_LABELS)}`,
    resources: ["clusteraccesses"],
    on: "object",
    writes: anyOf(...HOLDER_LABELS.map((label) => changes("labels", label))),
    right: "identity",
    message: `the labels ${HOLDER_LABELS.join(", ")} say whose access it is, by which it is revoked: leave them as they are`,
  },
  {
    what: `the removal of the annotation \`${ANNOTATION_IDENTITY}\` from an access`,
    resources: ["clusteraccesses"],
    on: "object",
    writes: removes("annotations", ANNOTATION_IDENTITY),
    message: `metadata.annotations[${ANNOTATION_IDENTITY}] says whether Marina has confirmed whose access it is: leave it as it is, also in a manifest that replaces the object`,
  },
  {
    what: "a `spec.subject` that is the id of a user",
    resources: ["clusteraccesses"],
    on: "object",
    writes: GRANTS_TO_USER(UUID_PATTERN),
    right: "identity",
    message:
      "spec.subject must not be the id of a user of Marina, who gets a kubeconfig by the API: use another name",
  },
];
