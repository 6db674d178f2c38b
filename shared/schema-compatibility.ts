/** A JSON Schema, as OpenAPI 3.1 documents and custom resource definitions hold it. */
export interface JsonSchema {
  [keyword: string]: unknown;
}

/**
 * What a schema is for. `accepted`: others write it, so all that was valid must stay valid. `given`: others read it,
 * so all that was there must stay there, of the same type; new fields and new enum values are no break.
 */
export type Direction = "accepted" | "given";

export interface SchemaPair {
  before: JsonSchema;
  after: JsonSchema;
  direction: Direction;
  /** Begins every line of the result. */
  where: string;
  /** Finds what a `$ref` of either side names. */
  resolveBefore?: (ref: string) => JsonSchema;
  resolveAfter?: (ref: string) => JsonSchema;
}

/** Largest values that may not fall, and smallest that may not rise, for what is accepted. */
const UPPER_BOUNDS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const LOWER_BOUNDS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
/** Keywords whose change may refuse something that was valid. */
const RESTRICTIONS = ["pattern", "format", "multipleOf", "uniqueItems", "not", "const"];
const BRANCHES = ["anyOf", "oneOf", "allOf"];

/**
 * Compares two versions of a schema. Returns one line per change that breaks somebody who relies on the older one;
 * it rather reports one too many: a changed pattern counts, whether or not it is wider.
 */
export function findSchemaBreaks(pair: SchemaPair): string[] {
  return compare(pair, new Set());
}

function compare(pair: SchemaPair, seen: Set<string>): string[] {
  const refs = `${refOf(pair.before)} ${refOf(pair.after)}`;
  if (refs !== " " && seen.has(refs)) return [];
  const inside = refs === " " ? seen : new Set([...seen, refs]);
  const before = follow(pair.before, pair.resolveBefore);
  const after = follow(pair.after, pair.resolveAfter);
  const resolved = { ...pair, before, after };
  return [
    ...compareTypes(resolved),
    ...compareEnums(resolved),
    ...(pair.direction === "accepted" ? compareBounds(resolved) : compareFormat(resolved)),
    ...compareRules(resolved),
    ...compareFields(resolved, inside),
    ...compareBranches(resolved, inside),
    ...compareEntries(resolved, inside),
  ];
}

function compareTypes({ before, after, direction, where }: SchemaPair): string[] {
  const [wide, narrow] = direction === "accepted" ? [after, before] : [before, after];
  const wideTypes = typesOf(wide);
  if (wideTypes.length === 0) return [];
  const fits = (type: string) =>
    wideTypes.includes(type) || (type === "integer" && wideTypes.includes("number"));
  const narrowTypes = typesOf(narrow);
  if (narrowTypes.length > 0 && narrowTypes.every(fits)) return [];
  return [
    `${where}: the type was ${typesOf(before).join(" or ") || "any"}, now ${typesOf(after).join(" or ") || "any"}`,
  ];
}

function compareEnums({ before, after, direction, where }: SchemaPair): string[] {
  const [was, is] = [listOf(before.enum), listOf(after.enum)];
  if (is === undefined)
    return direction === "given" && was !== undefined ? [`${where}: any value is possible now`] : [];
  if (was === undefined)
    return direction === "accepted" ? [`${where}: only some values are accepted now`] : [];
  const gone = was.filter((value) => !is.includes(value));
  return gone.map((value) => `${where}: the value ${JSON.stringify(value)} is gone`);
}

function compareBounds({ before, after, where }: SchemaPair): string[] {
  const breaks: string[] = [];
  const tell = (keyword: string) =>
    void breaks.push(`${where}: ${keyword} was ${show(before[keyword])}, now ${show(after[keyword])}`);
  for (const keyword of UPPER_BOUNDS) {
    if (numberOf(after[keyword], Infinity) < numberOf(before[keyword], Infinity)) tell(keyword);
  }
  for (const keyword of LOWER_BOUNDS) {
    const none = keyword.endsWith("inimum") ? -Infinity : 0;
    if (numberOf(after[keyword], none) > numberOf(before[keyword], none)) tell(keyword);
  }
  for (const keyword of RESTRICTIONS) {
    if (after[keyword] !== undefined && show(after[keyword]) !== show(before[keyword])) tell(keyword);
  }
  if (show(before.default) !== show(after.default)) tell("default");
  return breaks;
}

function compareFormat({ before, after, where }: SchemaPair): string[] {
  if (before.format === after.format) return [];
  return [`${where}: format was ${show(before.format)}, now ${show(after.format)}`];
}

/** CEL rules of a custom resource: one that was not there may refuse what was accepted; a better message may not. */
function compareRules({ before, after, where }: SchemaPair): string[] {
  const rulesOf = (schema: JsonSchema) =>
    objectsOf(schema["x-kubernetes-validations"]).map(({ rule }) => String(rule));
  const known = new Set(rulesOf(before));
  const breaks = rulesOf(after)
    .filter((rule) => !known.has(rule))
    .map((rule) => `${where}: a new rule: ${rule}`);
  for (const keyword of ["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"]) {
    if (show(before[keyword]) !== show(after[keyword])) breaks.push(`${where}: ${keyword} changed`);
  }
  return breaks;
}

function compareFields(pair: SchemaPair, seen: Set<string>): string[] {
  const { before, after, direction, where } = pair;
  const [was, is] = [objectOf(before.properties), objectOf(after.properties)];
  const breaks = Object.entries(was).flatMap(([name, schema]) => {
    const now = is[name];
    if (now === undefined) return [`${where}.${name}: the field is gone`];
    return compare({ ...pair, before: schema, after: now, where: `${where}.${name}` }, seen);
  });
  const [needed, neededNow] = [listOf(before.required) ?? [], listOf(after.required) ?? []];
  if (direction === "accepted") {
    const more = neededNow.filter((name) => !needed.includes(name));
    return [...breaks, ...more.map((name) => `${where}.${String(name)}: the field is required now`)];
  }
  const fewer = needed.filter((name) => !neededNow.includes(name) && is[String(name)] !== undefined);
  return [...breaks, ...fewer.map((name) => `${where}.${String(name)}: the field may be absent now`)];
}

/** Each alternative that there was must still be there; `allOf` is no choice, so one more is one more condition. */
function compareBranches(pair: SchemaPair, seen: Set<string>): string[] {
  return BRANCHES.flatMap((keyword) => {
    const [was, is] = [objectsOf(pair.before[keyword]), objectsOf(pair.after[keyword])];
    const where = `${pair.where} (${keyword})`;
    if (was.length === 0 && is.length === 0) return [];
    if (was.length === 0 && pair.direction === "given") return [];
    if (keyword === "allOf" && is.length > was.length) return [`${where}: a new condition`];
    return was.flatMap((before, index) => {
      const matches = is.some((after) => compare({ ...pair, before, after, where }, seen).length === 0);
      return matches ? [] : [`${where}: alternative ${index + 1} is gone or narrower`];
    });
  });
}

function compareEntries(pair: SchemaPair, seen: Set<string>): string[] {
  const { before, after, direction, where } = pair;
  const breaks: string[] = [];
  if (
    direction === "accepted" &&
    after.additionalProperties === false &&
    before.additionalProperties !== false
  )
    breaks.push(`${where}: unknown fields are refused now`);
  for (const [keyword, sign] of [
    ["items", "[]"],
    ["additionalProperties", ".*"],
  ] as const) {
    const [was, is] = [schemaOf(before[keyword]), schemaOf(after[keyword])];
    if (was !== undefined && is !== undefined)
      breaks.push(...compare({ ...pair, before: was, after: is, where: `${where}${sign}` }, seen));
  }
  return breaks;
}

function follow(schema: JsonSchema, resolve: SchemaPair["resolveBefore"]): JsonSchema {
  return typeof schema.$ref === "string" && resolve !== undefined ? resolve(schema.$ref) : schema;
}

function refOf(schema: JsonSchema): string {
  return typeof schema.$ref === "string" ? schema.$ref : "";
}

function typesOf(schema: JsonSchema): string[] {
  const types = [schema.type ?? []].flat().map(String);
  return schema.nullable === true && types.length > 0 ? [...types, "null"] : types;
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function show(value: unknown): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}

function schemaOf(value: unknown): JsonSchema | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonSchema)
    : undefined;
}

function objectOf(value: unknown): Record<string, JsonSchema> {
  return (schemaOf(value) ?? {}) as Record<string, JsonSchema>;
}

function listOf(value: unknown): unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function objectsOf(value: unknown): JsonSchema[] {
  return (listOf(value) ?? []).map(schemaOf).filter((entry) => entry !== undefined);
}
