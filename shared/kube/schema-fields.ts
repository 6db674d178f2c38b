/** An OpenAPI schema as far as its fields go. */
export interface ObjectSchema {
  properties?: Record<string, ObjectSchema>;
  items?: ObjectSchema;
  additionalProperties?: ObjectSchema | boolean;
}

/** apiVersion, kind and metadata, which every kind has. */
const COMMON = ["apiVersion", "kind", "metadata"];

/** Every field of an object of a kind, as `spec.taints[].key`; `.*` is any key of a map. Without those that every kind has. */
export function listFields(schema: ObjectSchema): string[] {
  const { properties = {} } = schema;
  return Object.entries(properties).flatMap(([name, field]) =>
    COMMON.includes(name) ? [] : [name, ...listBelow(field, name)],
  );
}

function listBelow({ properties = {}, items, additionalProperties }: ObjectSchema, path: string): string[] {
  const named = Object.entries(properties).flatMap(([name, field]) => [
    `${path}.${name}`,
    ...listBelow(field, `${path}.${name}`),
  ]);
  const elements = items === undefined ? [] : listBelow(items, `${path}[]`);
  const entries =
    typeof additionalProperties === "object" ? listBelow(additionalProperties, `${path}.*`) : [];
  return [...named, ...elements, ...entries];
}
