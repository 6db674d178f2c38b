import { z } from "@hono/zod-openapi";
import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { isLabelKey, isLabelValue, labelsSchema } from "../../../shared/crd/labels.ts";
import { truncateText } from "../../../shared/program/wording.ts";
import { NOT_PREPARED } from "../../db/pool.ts";

const MAX_SELECTOR_LENGTH = 4096;
const MAX_REQUIREMENTS = 32;

/** Integers of labels are compared in this range, as Kubernetes does: 64 bits, signed. */
const MAX_INTEGER = 2n ** 63n - 1n;

const SET_OPERATORS = ["in", "notin"];
const VALUE_OPERATORS = ["=", "==", "!=", ">", "<"];

/** What the labels of an object have to be; each key may occur several times. */
export type LabelRequirement =
  | { key: string; operator: "exists" | "absent" }
  | { key: string; operator: "in" | "notin"; values: string[] }
  | { key: string; operator: ">" | "<"; bound: bigint };

class SelectorError extends Error {
  override readonly name = "SelectorError";
}

/**
 * Parses a selector in the grammar of Kubernetes (`labels.Parse` of k8s.io/apimachinery): `a=b`, `a==b`, `a!=b`,
 * `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, `a>1`, `a<1`, with commas for "and". An empty text selects everything.
 * Throws a SelectorError that names what was found and expected.
 */
export function parseSelector(text: string): LabelRequirement[] {
  const tokens = text.match(/==|!=|[=!(),<>]|[^\s=!(),<>]+/g) ?? [];
  const requirements: LabelRequirement[] = [];
  let next = 0;
  const peek = () => tokens[next];
  const take = () => tokens[next++];
  if (tokens.length === 0) return [];
  for (;;) {
    requirements.push(parseRequirement(take, peek));
    if (requirements.length > MAX_REQUIREMENTS)
      throw new SelectorError(`must have at most ${MAX_REQUIREMENTS} requirements`);
    const end = take();
    if (end === undefined) return requirements;
    if (end !== ",") fail(end, '"," or the end');
  }
}

type Read = () => string | undefined;

const isWord = (token: string | undefined): token is string =>
  token !== undefined && !/^(==|!=|[=!(),<>])$/.test(token);

function fail(found: string | undefined, expected: string): never {
  throw new SelectorError(
    `must have ${expected} instead of ${found === undefined ? "the end" : `"${truncateText(found, 100)}"`}`,
  );
}

function parseRequirement(take: Read, peek: Read): LabelRequirement {
  const isNegated = peek() === "!";
  if (isNegated) take();
  const key = take();
  if (!isWord(key)) fail(key, "a key");
  if (!isLabelKey(key))
    throw new SelectorError(`must have keys of labels; "${truncateText(key, 100)}" is none`);
  if (isNegated) return { key, operator: "absent" };
  if (peek() === undefined || peek() === ",") return { key, operator: "exists" };
  const operator = take() ?? "";
  if (SET_OPERATORS.includes(operator))
    return { key, operator: operator as "in" | "notin", values: requireValues(parseList(take, peek)) };
  if (!VALUE_OPERATORS.includes(operator)) fail(operator, "=, ==, !=, in, notin, > or <");
  const value = peek() === undefined || peek() === "," ? "" : take();
  if (value !== "" && !isWord(value)) fail(value, "a value");
  const [only = ""] = requireValues([value]);
  if (operator === "=" || operator === "==") return { key, operator: "in", values: [only] };
  if (operator === "!=") return { key, operator: "notin", values: [only] };
  if (!/^\d+$/.test(only) || BigInt(only) > MAX_INTEGER) fail(only, `an integer after ${operator}`);
  return { key, operator: operator as ">" | "<", bound: BigInt(only) };
}

/** The values in parentheses, each once; one that is left out is empty. */
function parseList(take: Read, peek: Read): string[] {
  const opening = take();
  if (opening !== "(") fail(opening, '"("');
  const values: string[] = [];
  for (;;) {
    if (peek() === "," || peek() === ")") values.push("");
    else {
      const value = take();
      if (!isWord(value)) fail(value, 'a value, "," or ")"');
      values.push(value);
    }
    const end = take();
    if (end === ")") return [...new Set(values)];
    if (end !== ",") fail(end, '"," or ")"');
  }
}

function requireValues(values: string[]): string[] {
  const wrong = values.find((value) => !isLabelValue(value));
  if (wrong !== undefined)
    throw new SelectorError(`must have values of labels; "${truncateText(wrong, 100)}" is none`);
  return values;
}

/**
 * Whether labels, a JSON object or null, meet a selector: one condition of plain operators for each requirement. As in
 * Kubernetes, `!=` and `notin` select what has no such key, `>` and `<` nothing whose value is no integer of 64 bits.
 */
export function compileSelector(labels: SQLWrapper, requirements: readonly LabelRequirement[]): SQL {
  const conditions = requirements.map((requirement) => compileRequirement(labels, requirement));
  return sql`(${sql.join(conditions, sql` and `)} ${NOT_PREPARED})`;
}

function compileRequirement(labels: SQLWrapper, requirement: LabelRequirement): SQL {
  const { key } = requirement;
  const value = sql`(${labels} ->> ${key})`;
  switch (requirement.operator) {
    case "exists":
      return sql`${labels} ? ${key}`;
    case "absent":
      return sql`(${labels} ? ${key}) is not true`;
    case "in":
      return isOneOf(value, requirement.values);
    case "notin":
      return sql`(${isOneOf(value, requirement.values)}) is not true`;
    case ">":
      return isIntegerWithin(value, requirement.bound + 1n, MAX_INTEGER);
    case "<":
      return isIntegerWithin(value, 0n, requirement.bound - 1n);
  }
}

/** Null without a value. Postgres searches the keys of an object by halves, and an array from its beginning. */
function isOneOf(value: SQL, values: readonly string[]): SQL {
  if (values.length === 1) return sql`${value} = ${values[0]}`;
  return sql`${JSON.stringify(Object.fromEntries(values.map((one) => [one, null])))}::jsonb ? ${value}`;
}

const isIntegerWithin = (value: SQL, minimum: bigint, maximum: bigint): SQL =>
  sql`case when ${value} ~ '^[0-9]+$'
    then ${value}::numeric between ${minimum.toString()}::numeric and ${maximum.toString()}::numeric end`;

/** The labels of a PUT body. */
export const replacedLabelsSchema = labelsSchema.meta({
  description: "All labels that it has from then on: those that are left out are removed.",
});

/** A query parameter with a label selector. */
export const labelSelectorQuery = z
  .string()
  .max(MAX_SELECTOR_LENGTH)
  .transform((text, context): LabelRequirement[] => {
    try {
      return parseSelector(text);
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      context.addIssue({ code: "custom", message: error.message, params: { code: "invalid_format" } });
      return z.NEVER;
    }
  })
  .openapi({
    type: "string",
    maxLength: MAX_SELECTOR_LENGTH,
    description:
      "A label selector as Kubernetes has it: only what has these labels. At most 32 requirements, with commas between them.",
    example: "team=web,stage in (test,production),!legacy",
  });
