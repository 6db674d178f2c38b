import { z } from "zod";
import { IGNORED, IMMUTABLE } from "../http/contract/fields.ts";

/** Reads an OpenAPI document for the tests that run against every operation. */

const propertySchema = z.looseObject({
  description: z.string().optional(),
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  maxItems: z.number().optional(),
  format: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
});
const bodySchema = z.looseObject({
  properties: z.record(z.string(), propertySchema),
  required: z.array(z.string()).optional(),
  example: z.record(z.string(), z.unknown()).optional(),
});
export type BodySchema = z.output<typeof bodySchema>;
type PropertySchema = z.output<typeof propertySchema>;

const refSchema = z.object({ $ref: z.string() });
const operationSchema = z.looseObject({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  responses: z.record(z.string(), z.unknown()),
  requestBody: z.looseObject({ content: z.record(z.string(), z.object({ schema: z.unknown() })) }).optional(),
});
const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

export interface DocumentedOperation {
  method: string;
  path: string;
  operationId: string;
  secured: boolean;
  /** Any one of which lets a person in. */
  permissions: string[];
  body: BodySchema | undefined;
  statuses: string[];
}

/** Every operation of an OpenAPI document, with the JSON schema of its body. */
export function listOperations(text: string): DocumentedOperation[] {
  const document = documentSchema.parse(JSON.parse(text));
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const schema = operation.requestBody?.content["application/json"]?.schema;
      const ref = refSchema.safeParse(schema);
      const name = ref.success ? ref.data.$ref.split("/").at(-1) : undefined;
      const resolved = name === undefined ? schema : document.components.schemas[name];
      return {
        method: method.toUpperCase(),
        path,
        operationId: operation.operationId,
        secured: operation.security.length > 0,
        permissions: operation.security.flatMap(({ bearer = [] }) => bearer),
        statuses: Object.keys(operation.responses),
        body: resolved === undefined ? undefined : bodySchema.parse(resolved),
      };
    }),
  );
}

/** Bodies that the operations accept, where the example of the schema does not fit the records of a test. */
export const VALID_BODIES: Record<string, Record<string, unknown>> = {
  createOrganization: { name: "Example" },
  createCluster: { name: "example", k8s_version: "1.34" },
  createNodePool: { name: "example", vcpus: 1, memory_gb: 2, disk_gb: 10, desired_nodes: 0 },
  updateOrganization: { name: "Example" },
  inviteMember: { email: "new@example.com", role: "viewer" },
  updateMember: { role: "owner" },
  createApiToken: { name: "example", role: "viewer", scopes: ["clusters:read"] },
  createRegistryCredential: { cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11" },
  updateCluster: { name: "example" },
  issueKubeconfig: { ttl_seconds: 3600 },
  upgradeCluster: { target_version: "1.35" },
  setNetworkPolicy: { authorized_cidrs: [] },
  updateNodePool: { drain_timeout_seconds: 60 },
  setBudget: { monthly_limit_eur: 500, thresholds_pct: [80] },
  setOrganizationQuotas: { clusters: 20 },
  createTicket: { subject: "Example", category: "general", severity: "low", body: "Example" },
  updateTicket: { status: "open" },
  setUserQuotas: { organizations: 1000 },
};

/** One field with a wrong value, and the codes that may be said of it. */
export interface FieldFault {
  field: string;
  value: unknown;
  codes: string[];
}

const WRONG_TYPE: Record<string, unknown> = {
  string: 5,
  integer: "1",
  number: "1",
  boolean: "true",
  array: {},
  object: [],
};

/** The fields whose values are looked at: what a client only sends back is ignored or compared, whatever its type. */
function checkedFields({ properties }: BodySchema): [string, PropertySchema][] {
  return Object.entries(properties).filter(
    ([, { description = "" }]) => description !== IGNORED && description !== IMMUTABLE,
  );
}

/** A value of the wrong type for every field that has one. */
export function typeFaults(schema: BodySchema): FieldFault[] {
  return checkedFields(schema).flatMap(([field, property]) => {
    const type = typesOf(property).find((name) => name in WRONG_TYPE);
    if (type === undefined) return [];
    const codes = property.enum === undefined ? ["invalid_type"] : ["invalid_enum", "invalid_type"];
    return [{ field, value: WRONG_TYPE[type], codes }];
  });
}

/** A body that the operation accepts; tests break it in one place at a time. */
export function bodyOf({ operationId, body }: DocumentedOperation): Record<string, unknown> | undefined {
  return VALID_BODIES[operationId] ?? body?.example;
}

/** A body that would be refused, were it looked at. */
export function unfitBody(method: string): { rawBody?: string } {
  return method === "GET" ? {} : { rawBody: "{" };
}

/** A value beyond every bound that a field has. */
export function boundFaults(schema: BodySchema): FieldFault[] {
  return checkedFields(schema).flatMap(([field, property]) => {
    const faults: FieldFault[] = [];
    const { minimum, maximum, minLength, maxLength, maxItems, format } = property;
    if (minimum !== undefined) faults.push({ field, value: minimum - 1, codes: ["out_of_range"] });
    // No number is above the largest.
    if (maximum !== undefined && maximum < Number.MAX_VALUE)
      faults.push({ field, value: maximum + 1, codes: ["out_of_range"] });
    if (minLength !== undefined && minLength > 0)
      faults.push({ field, value: "", codes: ["too_short", "invalid_format"] });
    const tooLong = format === "uuid" ? "invalid_format" : "too_long";
    if (maxLength !== undefined) faults.push({ field, value: "a".repeat(maxLength + 1), codes: [tooLong] });
    if (maxItems !== undefined)
      faults.push({ field, value: Array(maxItems + 1).fill({}), codes: ["too_many"] });
    return faults;
  });
}

function typesOf({ type }: PropertySchema): string[] {
  if (type === undefined) return [];
  return typeof type === "string" ? [type] : type;
}
