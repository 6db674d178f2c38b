import { describeDeletionProtection, NODE_POOL_PREFIX } from "../fields.ts";
import {
  ANNOTATION_ALLOWED_REGISTRATION,
  ANNOTATION_HOLD,
  GROUP,
  LABEL_ORG_ID,
  LABEL_PROTECTED,
  NAMESPACE_PARTS,
  VERSION,
} from "../names.ts";
import { changes, changesOwn, listOf, objectVariables } from "./cel.ts";
import { type ReservedWrite, reservations } from "./table.ts";

/** The users that Marina's programs are: their ServiceAccounts in the platform's namespace. */
export const PROGRAM_USERS: readonly string[] = [
  "system:serviceaccount:marina-system:marina-apiserver",
  "system:serviceaccount:marina-system:marina-operator",
];

const RESOURCES = ["clusters", "nodepools", "clusteraccesses", "storageinventories"];

/** Decided before anything else, so that what Marina's programs write costs one comparison. */
const isNoProgram = (users: readonly string[]) => ({
  name: "is-no-program-of-marina",
  expression: `!(request.userInfo.username in ${listOf(users)})`,
});

const PARTS: Record<ReservedWrite["on"], string> = {
  object: "variables.subresource == '' && object != null",
  status: "variables.subresource == 'status'",
  "any part": "object != null",
  deletion: "request.operation == 'DELETE'",
};

/** RBAC is asked last, and only of a request that writes what is reserved. */
function toValidation({ resources, on, writes, right, holders, message }: ReservedWrite) {
  const scope = `request.resource.resource in ${listOf(resources)} && ${PARTS[on]}`;
  const check = `authorizer.group('${GROUP}').resource(request.resource.resource).subresource('${right}').namespace(request.namespace).check('update').allowed()`;
  const may = holders === undefined ? check : `((${holders.cel}) && ${check})`;
  const isFree = `!(${scope} && (${writes}))`;
  return {
    expression: right === undefined ? isFree : `${isFree} || ${may}`,
    message,
    reason: "Forbidden",
  };
}

/** A policy that refuses, and writes the refusal to the audit log of the Kubernetes API. */
function bind(name: string, spec: object) {
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: { failurePolicy: "Fail", ...spec },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny", "Audit"] },
    },
  ];
}

function match(apiGroups: string[], version: string, operations: string[], resources: string[]) {
  return { resourceRules: [{ apiGroups, apiVersions: [version], operations, resources }] };
}

function buildObjectPolicy(users: readonly string[]) {
  return bind(`reserved.${GROUP}`, {
    matchConstraints: {
      resourceRules: [
        ...match(
          [GROUP],
          VERSION,
          ["CREATE", "UPDATE"],
          [...RESOURCES.flatMap((resource) => [resource, `${resource}/status`]), "nodepools/scale"],
        ).resourceRules,
        ...match([GROUP], VERSION, ["DELETE"], RESOURCES).resourceRules,
      ],
    },
    matchConditions: [isNoProgram(users)],
    variables: objectVariables,
    validations: reservations.map(toValidation),
  });
}

/** What an organization is, and what its clusters hand out, is decided by who has the right in all Namespaces: a tenant's has it in one. */
function buildNamespacePolicy(users: readonly string[]) {
  const isOrganization = `${["object", "oldObject"].map((it) => `(${it} != null && (${it}.metadata.name.startsWith('org-') || (has(${it}.metadata.labels) && '${LABEL_ORG_ID}' in ${it}.metadata.labels)))`).join(" || ")}`;
  const names = ["labels", "annotations", "labelsBefore", "annotationsBefore"];
  const may = (right: string) =>
    `authorizer.group('${GROUP}').resource('clusters').subresource('${right}').check('update').allowed()`;
  return bind(`namespaces.${GROUP}`, {
    matchConstraints: match([""], "v1", ["CREATE", "UPDATE"], NAMESPACE_PARTS),
    matchConditions: [isNoProgram(users), { name: "is-of-an-organization", expression: isOrganization }],
    variables: objectVariables.filter(({ name }) => names.includes(name)),
    validations: [
      {
        expression: `!(${changes("annotations", ANNOTATION_ALLOWED_REGISTRATION)}) || ${may("registration")} || ${may("identity")}`,
        message: `metadata.annotations[${ANNOTATION_ALLOWED_REGISTRATION}] decides which credentials of clusters are handed out: it is set by who has clusters/registration in all Namespaces; ask a cluster administrator`,
        reason: "Forbidden",
      },
      {
        expression: `!(${changesOwn("labels")} || ${changesOwn("annotations", ANNOTATION_ALLOWED_REGISTRATION)}) || ${may("identity")}`,
        message: `labels and annotations of ${GROUP} on the Namespace of an organization are set by Marina alone: leave them as they are; a backup is restored with the role marina-restore`,
        reason: "Forbidden",
      },
    ],
  });
}

/** Whether an update of an object changes none of its metadata but this label; without variables, which a match condition has none of. */
function changesLabelAlone(label: string): string {
  const both = [
    ["labels", "labelsBefore"],
    ["labelsBefore", "labels"],
  ].map(
    ([one, other]) =>
      `variables.${one}.all(key, key == '${label}' || (key in variables.${other} && variables.${one}[key] == variables.${other}[key]))`,
  );
  const others = ["annotations", "finalizers", "owners"].map(
    (name) => `variables.${name} == variables.${name}Before`,
  );
  const expressions = new Map(objectVariables.map(({ name, expression }) => [name, expression]));
  return [...both, ...others]
    .join(" && ")
    .replaceAll(/variables\.(\w+)/g, (_variable, name: string) => `(${expressions.get(name)})`);
}

/**
 * Kubernetes cannot limit the right to create Namespaces by their names: Marina's API server has it for those of
 * organizations. Of others that belong to an organization it says that they hold what is protected.
 */
function buildProgramPolicy(users: readonly string[]) {
  const isOwned = `object != null && oldObject != null && has(oldObject.metadata.labels) && '${LABEL_ORG_ID}' in oldObject.metadata.labels`;
  return bind(`programs.${GROUP}`, {
    matchConstraints: match([""], "v1", ["CREATE", "UPDATE", "DELETE"], NAMESPACE_PARTS),
    matchConditions: [
      {
        name: "is-a-program-of-marina",
        expression: `request.userInfo.username in ${listOf(users)}`,
      },
      {
        name: "is-more-than-the-mark-of-what-is-protected",
        expression: `!(${isOwned} && ${changesLabelAlone(LABEL_PROTECTED)})`,
      },
    ],
    validations: [
      {
        expression: "(object == null ? oldObject : object).metadata.name.startsWith('org-')",
        message: "Marina's programs write no Namespaces but those of organizations, org-*",
        reason: "Forbidden",
      },
    ],
  });
}

/** For every user, Marina's programs included. */
function buildHoldPolicy() {
  return bind(`hold.${GROUP}`, {
    matchConstraints: match([GROUP], VERSION, ["DELETE"], ["clusters"]),
    validations: [
      {
        expression: `!has(oldObject.metadata.annotations) || !('${ANNOTATION_HOLD}' in oldObject.metadata.annotations) || has(oldObject.metadata.deletionTimestamp)`,
        message: `the platform holds this cluster (metadata.annotations[${ANNOTATION_HOLD}]): it cannot be deleted; ask the platform's operator`,
        messageExpression: `'the platform holds this cluster: ' + oldObject.metadata.annotations['${ANNOTATION_HOLD}'] + '; it cannot be deleted until the platform removes metadata.annotations[${ANNOTATION_HOLD}]'`,
        reason: "Invalid",
      },
    ],
  });
}

const PROTECTION = "has(PLACE.spec.deletionProtection) && PLACE.spec.deletionProtection";
const isProtected = (place: "object" | "oldObject") => PROTECTION.replaceAll("PLACE", place);

const NOUN = "(request.resource.resource == 'clusters' ? 'cluster' : 'node pool')";
const MAY_DELETE = `authorizer.group('${GROUP}').resource(request.resource.resource).namespace(request.namespace).name(object.metadata.name).check('delete').allowed()`;
/**
 * Neither of two spellings of one moment is earlier. What came back from a backup after its end is not deleted for that one, and is
 * for every other.
 */
const BRINGS_END_FORWARD =
  "!has(oldObject.spec.expiresAt) || (object.spec.expiresAt != oldObject.spec.expiresAt && timestamp(object.spec.expiresAt) != timestamp(oldObject.spec.expiresAt) && (timestamp(oldObject.spec.expiresAt) <= timestamp(oldObject.metadata.creationTimestamp) || timestamp(object.spec.expiresAt) < timestamp(oldObject.spec.expiresAt)))";
const LIFTS_PROTECTION = `(${isProtected("oldObject")}) && !(${isProtected("object")})`;
const LIFT_ADVICE = "remove spec.expiresAt too, or have it lifted by a user with the verb delete";
const lifts = (state: string) =>
  `request.resource.resource == 'clusters' && ${state.replaceAll("PLACE", "oldObject")} && !(${state.replaceAll("PLACE", "object")})`;
const LIFTS_HOLD = lifts(
  `(has(PLACE.metadata.annotations) && '${ANNOTATION_HOLD}' in PLACE.metadata.annotations)`,
);
const RESUMES = lifts("(has(PLACE.spec.suspend) && PLACE.spec.suspend)");

/**
 * A change by which Marina's API server would delete the object, or earlier than without it, as REST's
 * `schedulesDeletion`. RBAC is asked last, and the end of a new object is its creator's.
 */
function toScheduleValidation(schedules: string, what: string, advice: string) {
  const isFree = `request.operation != 'UPDATE' || !has(object.spec.expiresAt) || !(${schedules})`;
  return {
    expression: `${isFree} || ${MAY_DELETE}`,
    message: `${what} has the object deleted: it takes the right to delete it; ${advice}`,
    messageExpression: `'${what} has the ' + ${NOUN} + ' ' + object.metadata.name + ' deleted: it takes the right to delete it; ${advice}'`,
    reason: "Forbidden",
  };
}

/**
 * Decided by the object as it is when it is deleted. The programs pass: the operator deletes the pools of a deleted
 * cluster, and Marina's API server deletes what it has seen unprotected, in that version.
 */
function buildProtectionPolicy(users: readonly string[]) {
  const sentence = describeDeletionProtection(`' + ${NOUN} + '`, "' + oldObject.metadata.name + '");
  return bind(`deletion-protection.${GROUP}`, {
    matchConstraints: match([GROUP], VERSION, ["UPDATE", "DELETE"], ["clusters", "nodepools"]),
    matchConditions: [isNoProgram(users)],
    validations: [
      {
        expression: `request.operation != 'DELETE' || !(${isProtected("oldObject")}) || has(oldObject.metadata.deletionTimestamp)`,
        message: "It is protected from deletion: set spec.deletionProtection to false first.",
        messageExpression: `'${sentence}'`,
        reason: "Forbidden",
      },
      {
        expression: `request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp) || !(${isProtected("object")}) || (${isProtected("oldObject")})`,
        message: "it is being deleted already: spec.deletionProtection cannot be set to true any more",
        reason: "Forbidden",
      },
      toScheduleValidation(
        BRINGS_END_FORWARD,
        "a new or an earlier spec.expiresAt",
        "leave it as it is, remove it, set a later one where it is not before the creation, or have it set by a user with the verb delete",
      ),
      toScheduleValidation(
        LIFTS_PROTECTION,
        "lifting spec.deletionProtection before spec.expiresAt",
        LIFT_ADVICE,
      ),
      toScheduleValidation(
        LIFTS_HOLD,
        `lifting metadata.annotations[${ANNOTATION_HOLD}] before spec.expiresAt`,
        LIFT_ADVICE,
      ),
      toScheduleValidation(RESUMES, "lifting spec.suspend before spec.expiresAt", LIFT_ADVICE),
    ],
  });
}

/** A Namespace takes along what is in it, so it stays as long as one of the objects in it is protected. The label names that. */
function buildNamespaceProtectionPolicy(users: readonly string[]) {
  const label = `oldObject.metadata.labels['${LABEL_PROTECTED}']`;
  const noun = `(${label}.startsWith('${NODE_POOL_PREFIX}') ? 'node pool' : 'cluster')`;
  const sentence = describeDeletionProtection(`' + ${noun} + '`, `' + ${label}.split('.')[1] + '`);
  return bind(`namespace-protection.${GROUP}`, {
    matchConstraints: {
      ...match([""], "v1", ["DELETE"], ["namespaces"]),
      objectSelector: { matchExpressions: [{ key: LABEL_PROTECTED, operator: "Exists" }] },
    },
    matchConditions: [isNoProgram(users)],
    validations: [
      {
        expression: "has(oldObject.metadata.deletionTimestamp)",
        message:
          "It holds what is protected from deletion: set spec.deletionProtection to false there first.",
        messageExpression: `'${sentence}'`,
        reason: "Forbidden",
      },
    ],
  });
}

/**
 * The ValidatingAdmissionPolicies with their bindings that keep what is reserved to those who may write it
 * (docs/operators/reserved.md), Marina's own programs to the Namespaces of organizations, and what is protected from deletion. `users`: those that the programs are.
 */
export function buildReservedPolicies(users: readonly string[] = PROGRAM_USERS) {
  return [
    ...buildObjectPolicy(users),
    ...buildNamespacePolicy(users),
    ...buildProgramPolicy(users),
    ...buildHoldPolicy(),
    ...buildProtectionPolicy(users),
    ...buildNamespaceProtectionPolicy(users),
  ];
}
