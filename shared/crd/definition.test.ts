import { describe, expect, test } from "vitest";
import { buildCustomResourceDefinition, buildObjectSchema, type JsonSchema } from "./definition.ts";
import { resourceDefinitions } from "./definitions.ts";

/** Every schema inside `spec` and `status` with its path: properties, list items, map values. */
function walk(schema: JsonSchema, path: string): { path: string; schema: JsonSchema }[] {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const inner = properties.map(([name, property]) => walk(property, `${path}.${name}`));
  for (const key of ["items", "additionalProperties"]) {
    if (schema[key] !== undefined) inner.push(walk(schema[key] as JsonSchema, `${path}[]`));
  }
  return [{ path, schema }, ...inner.flat()];
}

const fields = resourceDefinitions.flatMap((definition) => {
  const { spec, status } = buildObjectSchema(definition).properties as Record<"spec" | "status", JsonSchema>;
  return [...walk(spec, `${definition.kind.kind}.spec`), ...walk(status, `${definition.kind.kind}.status`)];
});
const ofType = (type: string) => fields.filter(({ schema }) => schema.type === type);
const pathsOf = (found: { path: string }[]) => found.map(({ path }) => path);

describe("in the schemas of all kinds", () => {
  test("every field has a type that Kubernetes knows", () => {
    const known = ["object", "array", "string", "integer", "boolean"];
    expect(pathsOf(fields.filter(({ schema }) => !known.includes(String(schema.type))))).toEqual([]);
  });

  test("every field is described in a sentence", () => {
    expect(pathsOf(fields.filter(({ schema }) => !/^[A-Z].*\.$/s.test(String(schema.description))))).toEqual(
      [],
    );
  });

  test("every string is bounded", () => {
    const unbounded = ofType("string").filter(
      ({ schema }) => schema.maxLength === undefined && schema.enum === undefined,
    );
    expect(pathsOf(unbounded)).toEqual([]);
  });

  test("every number is bounded on both sides", () => {
    const unbounded = ofType("integer").filter(
      ({ schema }) =>
        schema.enum === undefined && (schema.minimum === undefined || schema.maximum === undefined),
    );
    expect(pathsOf(unbounded)).toEqual([]);
  });

  test("every list is bounded and has a list type; a map list requires its keys", () => {
    const wrong = ofType("array").filter(({ schema }) => {
      if (schema.maxItems === undefined) return true;
      if (schema["x-kubernetes-list-type"] === "atomic") return false;
      const required = ((schema.items as JsonSchema).required ?? []) as string[];
      const keys = (schema["x-kubernetes-list-map-keys"] ?? []) as string[];
      return keys.length === 0 || keys.some((key) => !required.includes(key));
    });
    expect(pathsOf(wrong)).toEqual([]);
  });

  test("every map is bounded, and no object accepts unknown fields", () => {
    const wrong = ofType("object").filter(({ schema }) =>
      schema.properties === undefined
        ? schema.additionalProperties === undefined || schema.maxProperties === undefined
        : schema.additionalProperties !== undefined,
    );
    expect(pathsOf(wrong)).toEqual([]);
  });

  test("a field whose absence means the platform's default has no default", () => {
    expect(pathsOf(fields.filter(({ schema }) => schema.default !== undefined))).toEqual([
      "Cluster.spec.publicEndpoint",
      "Cluster.status",
      "NodePool.spec.minNodes",
      "NodePool.spec.maxNodes",
      "NodePool.spec.desiredNodes",
      "NodePool.status",
      "ClusterAccess.status",
    ]);
  });

  test("only keywords of structural schemas are used", () => {
    const allowed = new Set(
      "type description properties required items additionalProperties enum default format pattern minimum maximum minLength maxLength minItems maxItems maxProperties x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type x-kubernetes-validations".split(
        " ",
      ),
    );
    const others = fields.flatMap(({ path, schema }) =>
      Object.keys(schema)
        .filter((keyword) => !allowed.has(keyword))
        .map((keyword) => `${path}: ${keyword}`),
    );
    expect(others).toEqual([]);
  });
});

describe.each(resourceDefinitions)("the definition of $kind.kind", (definition) => {
  const built = buildCustomResourceDefinition(definition);

  test("is namespaced, has the status subresource and the category marina", () => {
    expect(built).toMatchObject({
      metadata: { name: `${definition.kind.plural}.cloud.marina.dev` },
      spec: {
        scope: "Namespaced",
        names: { categories: ["marina"] },
        versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} } }],
      },
    });
  });

  test("stays far below the size at which client-side apply fails (262144 bytes)", () => {
    expect(JSON.stringify(built).length).toBeLessThan(65_536);
  });
});
