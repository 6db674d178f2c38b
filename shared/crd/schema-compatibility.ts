/** JSON Schema of a CustomResourceDefinition. */
export interface SchemaNode {
  [keyword: string]: unknown;
}

/**
 * Who uses a schema. `request`: clients write it, so every valid value must stay valid. `response`: clients read it, so
 * every field must stay, with its type; new fields and enum values are not breaking.
 */
export type Direction = "request" | "response";

export interface SchemaPair {
  before: SchemaNode;
  after: SchemaNode;
  direction: Direction;
  /** The path that begins every line of the result. */
  where: string;
}

/** Bounds whose decrease (upper) or increase (lower) breaks requests. */
const UPPER_BOUNDS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const LOWER_BOUNDS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
/** Keywords whose change may reject a value that was valid. */
const RESTRICTIONS = ["pattern", "format", "multipleOf", "uniqueItems", "not", "const"];
const BRANCHES = ["anyOf", "oneOf", "allOf"];

/**
 * Compares two versions of a schema. Returns one line per breaking change. False positives are possible: a changed
 * pattern is reported even when it is wider.
 */
export function findSchemaBreaks(pair: SchemaPair): string[] {
  return [
    ...compareTypes(pair),
    ...compareEnums(pair),
    ...(pair.direction === "request" ? compareBounds(pair) : compareFormat(pair)),
    ...compareRules(pair),
    ...compareFields(pair),
    ...compareBranches(pair),
    ...compareEntries(pair),
  ];
}

function compareTypes({ before, after, direction, where }: SchemaPair): string[] {
  const [wide, narrow] = direction === "request" ? [after, before] : [before, after];
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
    return direction === "response" && was !== undefined ? [`${where}: any value is possible now`] : [];
  if (was === undefined)
    return direction === "request" ? [`${where}: only some values are accepted now`] : [];
  const removed = was.filter((value) => !is.includes(value));
  return removed.map((value) => `${where}: the value ${JSON.stringify(value)} was removed`);
}

function compareBounds({ before, after, where }: SchemaPair): string[] {
  const breaks: string[] = [];
  const report = (keyword: string) =>
    void breaks.push(`${where}: ${keyword} was ${show(before[keyword])}, now ${show(after[keyword])}`);
  for (const keyword of UPPER_BOUNDS) {
    if (numberOf(after[keyword], Infinity) < numberOf(before[keyword], Infinity)) report(keyword);
  }
  for (const keyword of LOWER_BOUNDS) {
    const none = keyword.endsWith("inimum") ? -Infinity : 0;
    if (numberOf(after[keyword], none) > numberOf(before[keyword], none)) report(keyword);
  }
  for (const keyword of RESTRICTIONS) {
    if (after[keyword] !== undefined && show(after[keyword]) !== show(before[keyword])) report(keyword);
  }
  if (show(before.default) !== show(after.default)) report("default");
  return breaks;
}

function compareFormat({ before, after, where }: SchemaPair): string[] {
  if (before.format === after.format) return [];
  return [`${where}: format was ${show(before.format)}, now ${show(after.format)}`];
}

/** A new CEL rule of a custom resource may reject a value that was valid. */
function compareRules({ before, after, where }: SchemaPair): string[] {
  const rulesOf = (schema: SchemaNode) =>
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

function compareFields(pair: SchemaPair): string[] {
  const { before, after, direction, where } = pair;
  const [was, is] = [objectOf(before.properties), objectOf(after.properties)];
  const [needed, neededNow] = [listOf(before.required) ?? [], listOf(after.required) ?? []];
  const breaks = Object.entries(was).flatMap(([name, schema]) => {
    const now = is[name];
    if (now === undefined) return [`${where}.${name}: the field was removed`];
    // A stored object has a required field, so that a default changes nothing in it.
    const known = schema.default === undefined && needed.includes(name) ? { default: now.default } : {};
    return findSchemaBreaks({
      ...pair,
      before: { ...schema, ...known },
      after: now,
      where: `${where}.${name}`,
    });
  });
  if (direction === "request") {
    const more = neededNow.filter((name) => !needed.includes(name));
    return [...breaks, ...more.map((name) => `${where}.${String(name)}: the field is required now`)];
  }
  const fewer = needed.filter((name) => !neededNow.includes(name) && is[String(name)] !== undefined);
  return [...breaks, ...fewer.map((name) => `${where}.${String(name)}: the field may be absent now`)];
}

/** Every former alternative must remain; a new branch of `allOf` is a new condition. */
function compareBranches(pair: SchemaPair): string[] {
  return BRANCHES.flatMap((keyword) => {
    const [was, is] = [objectsOf(pair.before[keyword]), objectsOf(pair.after[keyword])];
    const where = `${pair.where} (${keyword})`;
    if (was.length === 0 && is.length === 0) return [];
    if (was.length === 0 && pair.direction === "response") return [];
    if (keyword === "allOf" && is.length > was.length) return [`${where}: a new condition`];
    return was.flatMap((before, index) => {
      const matches = is.some((after) => findSchemaBreaks({ ...pair, before, after, where }).length === 0);
      return matches ? [] : [`${where}: alternative ${index + 1} was removed or narrowed`];
    });
  });
}

function compareEntries(pair: SchemaPair): string[] {
  const { before, after, direction, where } = pair;
  const breaks: string[] = [];
  if (
    direction === "request" &&
    after.additionalProperties === false &&
    before.additionalProperties !== false
  )
    breaks.push(`${where}: unknown fields are rejected now`);
  for (const [keyword, sign] of [
    ["items", "[]"],
    ["additionalProperties", ".*"],
  ] as const) {
    const [was, is] = [schemaOf(before[keyword]), schemaOf(after[keyword])];
    if (was !== undefined && is !== undefined)
      breaks.push(...findSchemaBreaks({ ...pair, before: was, after: is, where: `${where}${sign}` }));
  }
  return breaks;
}

function typesOf(schema: SchemaNode): string[] {
  const types = [schema.type ?? []].flat().map(String);
  return schema.nullable === true && types.length > 0 ? [...types, "null"] : types;
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function show(value: unknown): string {
  return value === undefined ? "absent" : JSON.stringify(value);
}

function schemaOf(value: unknown): SchemaNode | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as SchemaNode)
    : undefined;
}

function objectOf(value: unknown): Record<string, SchemaNode> {
  return (schemaOf(value) ?? {}) as Record<string, SchemaNode>;
}

function listOf(value: unknown): unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function objectsOf(value: unknown): SchemaNode[] {
  return (listOf(value) ?? []).map(schemaOf).filter((entry) => entry !== undefined);
}
