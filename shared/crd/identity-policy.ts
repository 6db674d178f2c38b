import { GROUP, LABEL_ID, LABEL_ORG_ID, NAMESPACE_PARTS, UUID_PATTERN, VERSION } from "./names.ts";

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
