import { z } from "zod";
import type { Kind } from "../kube/kind.ts";
import { MAX_OBJECT_NAME_LENGTH } from "./fields.ts";
import { type RuleViolation, toKubernetesValidation } from "./rule.ts";

export interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "boolean" | "date";
  jsonPath: string;
  description: string;
  /** 0 is always shown, 1 only with `-o wide`. */
  priority?: 0 | 1;
}

/** A rule of the whole object: it can use `metadata.name`, `spec` and `status`. */
export interface RootRule extends RuleViolation {
  cel: string;
}

/** The source of a CustomResourceDefinition. */
export interface ResourceDefinition {
  kind: Kind<unknown>;
  singular: string;
  shortNames: readonly string[];
  description: string;
  spec: z.ZodType;
  status: z.ZodType;
  /** The default status of a new object. */
  defaultStatus?: object;
  rules: readonly RootRule[];
  printerColumns: readonly PrinterColumn[];
  /** JSON paths of fields that `kubectl get --field-selector` takes. */
  selectableFields?: readonly string[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
}

/** Two columns for every kind with a Ready condition: whether it is ready, and why or why not in one word. */
export const readyColumns: readonly PrinterColumn[] = [
  {
    name: "Ready",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    description: "The Ready condition.",
  },
  {
    name: "Reason",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    description: "Why it is ready or not.",
  },
];

export const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since the object was created.",
};

/** A name is a DNS label of at most 40 characters, because Cluster API derives names and DNS labels from it. */
export const objectNameRules: readonly RootRule[] = [
  {
    field: "metadata.name",
    code: "too_long",
    cel: `self.metadata.name.size() <= ${MAX_OBJECT_NAME_LENGTH}`,
    message: `must have at most ${MAX_OBJECT_NAME_LENGTH} characters`,
  },
  {
    field: "metadata.name",
    code: "invalid_format",
    cel: "!self.metadata.name.contains('.')",
    message: "must not contain a dot",
  },
];

/** The status keeps the id that it has once got, also when it is written without. */
export const statusIdRule: RootRule = {
  field: "status.id",
  code: "immutable",
  message: "cannot be changed once it is set",
  cel: "!has(oldSelf.status) || !has(oldSelf.status.id) || (has(self.status) && has(self.status.id) && self.status.id == oldSelf.status.id)",
};

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
