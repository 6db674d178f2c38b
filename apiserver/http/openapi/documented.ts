import { z } from "zod";

const schemaShape = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  format: z.string().optional(),
  pattern: z.string().optional(),
  get items() {
    return schemaShape.optional();
  },
  get anyOf() {
    return z.array(schemaShape).optional();
  },
  get properties() {
    return z.record(z.string(), schemaShape).optional();
  },
  required: z.array(z.string()).optional(),
  example: z.unknown().optional(),
});
const contentShape = z.record(z.string(), z.looseObject({ schema: schemaShape.optional() })).optional();
const operationShape = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().optional(),
        schema: schemaShape,
      }),
    )
    .optional(),
  requestBody: z.looseObject({ content: contentShape }).optional(),
  responses: z.record(z.string(), z.looseObject({ description: z.string(), content: contentShape })),
});
/** What the reference page reads of an OpenAPI document. */
export const documentShape = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
  components: z.looseObject({ schemas: z.record(z.string(), schemaShape) }),
});

export type Schema = z.output<typeof schemaShape>;
export type Content = z.output<typeof contentShape>;
export type Documented = z.output<typeof documentShape>;
/** An operation with where it is found. The method is in lower case. */
export type PlacedOperation = z.output<typeof operationShape> & { method: string; path: string };

/** Every operation in the order of the document. */
export function listPlaced({ paths }: Documented): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
}

/** The name of the component that a reference like `#/components/schemas/Cluster` names. */
export function componentName(ref: string): string {
  return ref.split("/").at(-1) ?? "";
}
