import { z } from "zod";
import { listFields, type Requirement } from "../kube/required-kinds.ts";
import type { PrinterColumn, ResourceDefinition } from "./definition.ts";
import { resourceDefinitions } from "./definitions.ts";
import { toKubernetesValidation } from "./rule.ts";

/** JSON Schema of apiextensions.k8s.io/v1. */
export type JsonSchema = Record<string, unknown>;

/** The CustomResourceDefinition of a kind: one served and stored version with the status subresource. */
export function buildCustomResourceDefinition(definition: ResourceDefinition): JsonSchema {
  const { kind, singular, shortNames } = definition;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.namespaced ? "Namespaced" : "Cluster",
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular,
        shortNames: [...shortNames],
        categories: ["marina"],
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: buildObjectSchema(definition) },
          subresources: {
            status: {},
            ...(definition.scale === undefined ? {} : { scale: definition.scale }),
          },
          additionalPrinterColumns: definition.printerColumns.map(presentColumn),
          ...(definition.selectableFields && {
            selectableFields: definition.selectableFields.map((jsonPath) => ({ jsonPath })),
          }),
        },
      ],
    },
  };
}

/** The schema of the whole object; the API server adds the schema of metadata. */
export function buildObjectSchema(definition: ResourceDefinition): JsonSchema {
  return {
    type: "object",
    description: definition.description,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string", description: "Group and version of the kind." },
      kind: { type: "string", description: "Name of the kind." },
      metadata: { type: "object", properties: { name: { type: "string" } } },
      spec: toStructuralSchema(definition.spec),
      status: {
        ...toStructuralSchema(definition.status),
        ...(definition.defaultStatus !== undefined && { default: definition.defaultStatus }),
      },
    },
    "x-kubernetes-validations": definition.rules.map(toKubernetesValidation),
  };
}

function toStructuralSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: "openapi-3.0", io: "input", unrepresentable: "throw" });
}

function presentColumn({ name, type, jsonPath, description, priority = 0 }: PrinterColumn) {
  return { name, type, jsonPath, description, priority };
}

/** Marina's own kinds, with every field that this program knows. */
export function requireOwnKinds(): Requirement {
  return {
    kinds: resourceDefinitions.map((definition) => ({
      kind: definition.kind,
      fields: listFields(buildObjectSchema(definition)),
    })),
    remedy:
      "install those of this version (`helm upgrade` with crds.enabled, or `kubectl apply --server-side -f crds/`)",
    newerRemedy: "upgrade this program to the version that they came with",
  };
}
