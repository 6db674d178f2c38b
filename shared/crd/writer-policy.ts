import {
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_REQUEST_ID,
  GROUP,
  MANAGER_PREFIX,
  VERSION,
} from "./names.ts";

const POLICY_NAME = "writers.cloud.marina.dev";
const RESOURCES = ["clusters", "nodepools", "clusteraccesses", "storageinventories"];

/** The group of the ServiceAccounts in the platform's namespace. */
export const PROGRAM_GROUPS: readonly string[] = ["system:serviceaccounts:marina-system"];

const same = (field: string) =>
  `(has(now.${field}) ? now.${field} : '') == (has(before.${field}) ? before.${field} : '')`;

const OPTIONS_RULE = `variables.isProgram || !has(request.options) || !has(request.options.fieldManager) || !request.options.fieldManager.startsWith('${MANAGER_PREFIX}')`;

/**
 * For writers that name no manager, who get the first part of their User-Agent. Times have whole seconds: a change in the
 * second of one by Marina is not seen here. Whoever takes a field over makes the entry of Marina smaller, but never newer.
 */
const MANAGER_RULE = `variables.isProgram || !has(object.metadata.managedFields) || object.metadata.managedFields.all(now, !now.manager.startsWith('${MANAGER_PREFIX}') || variables.entriesBefore.exists(before, before.manager == now.manager && ${["operation", "subresource", "time"].map(same).join(" && ")}))`;

const annotationRule = (annotation: string) =>
  `variables.isProgram || !('${annotation}' in variables.annotations) || ('${annotation}' in variables.annotationsBefore && variables.annotations['${annotation}'] == variables.annotationsBefore['${annotation}'])`;

const annotationsOf = (object: string) =>
  `${object} == null || !has(${object}.metadata.annotations) ? {} : ${object}.metadata.annotations`;

/**
 * The ValidatingAdmissionPolicy with its binding: field managers whose name begins with "marina-" and the annotations that
 * identify REST requests are Marina's alone, because the audit log tells by them who made a change. `programGroups`: the
 * groups of which a writer must have one, also to restore a backup with these annotations.
 */
export function buildWriterPolicy(programGroups: readonly string[] = PROGRAM_GROUPS) {
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
              resources: RESOURCES.flatMap((resource) => [resource, `${resource}/status`]),
            },
          ],
        },
        variables: [
          {
            name: "isProgram",
            expression: `has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in ${JSON.stringify(programGroups)})`,
          },
          {
            name: "entriesBefore",
            expression:
              "oldObject == null || !has(oldObject.metadata.managedFields) ? [] : oldObject.metadata.managedFields",
          },
          { name: "annotations", expression: annotationsOf("object") },
          { name: "annotationsBefore", expression: annotationsOf("oldObject") },
        ],
        validations: [
          ...[OPTIONS_RULE, MANAGER_RULE].map((expression) => ({
            expression,
            message: `field managers whose name begins with ${MANAGER_PREFIX} are Marina's own: use another --field-manager`,
            reason: "Forbidden",
          })),
          ...[ANNOTATION_REQUEST_ID, ANNOTATION_NETWORK_REQUEST_ID].map((annotation) => ({
            expression: annotationRule(annotation),
            message: `metadata.annotations[${annotation}]: is set by Marina alone; leave it out`,
            reason: "Forbidden",
          })),
        ],
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
