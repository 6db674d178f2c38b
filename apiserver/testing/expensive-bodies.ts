import { z } from "zod";

/** A body that costs the most of its kind, as text. */
export interface ExpensiveBody {
  name: string;
  text: string;
}

const MAX_BYTES = 262_144;
/** Entries of a list or a map without its own bound. */
const MANY = 11_000;
const MAX_FIELDS = 128;

const nodeSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  maxItems: z.number().optional(),
  maxProperties: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  get properties() {
    return z.record(z.string(), nodeSchema).optional();
  },
  get items() {
    return nodeSchema.optional();
  },
  get anyOf() {
    return z.array(nodeSchema).optional();
  },
});
type Node = z.output<typeof nodeSchema>;

/** What stands in every place where the schema has a value. */
type Leaf = (node: Node) => unknown;

/**
 * The most expensive bodies for the schema of one operation, each within the limit of bytes: with every list and map
 * full of right or of wrong values, and wide, deep and long whatever the schema says.
 */
export function expensiveBodies(schema: z.ZodType): ExpensiveBody[] {
  const root = nodeSchema.parse(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  const fields = Object.keys(root.properties ?? {});
  const inEveryField = (value: unknown) => Object.fromEntries(fields.map((name) => [name, value]));
  const list = (count: number, value: unknown) => Array<unknown>(count).fill(value);
  const share = Math.floor(MANY / Math.max(1, fields.length));
  const entries: [string, unknown][] = [
    ["all right", fill(root, rightLeaf, 1)],
    ["all wrong", fill(root, wrongLeaf, 1)],
    ["objects where anything else belongs", fill(root, () => ({ a: 1 }), 1)],
    ["texts where anything else belongs", fill(root, () => "\u0000", 1)],
    ["beyond the bound of each list", fill(root, rightLeaf, 100)],
    ["a list of lists in each field", inEveryField(list(share, []))],
    ["a list of objects in each field", inEveryField(list(Math.floor(share / 2), { a: 0 }))],
    ["a map of wrong labels in each field", inEveryField(map(MAX_FIELDS, 5))],
    ["unknown fields", { ...fill(root, rightLeaf, 1), ...map(MAX_FIELDS - fields.length, 1) }],
    ["deep", inEveryField(nest(30))],
    ["a long text in each field", inEveryField("a".repeat(Math.floor(250_000 / Math.max(1, fields.length))))],
    [
      "text that is hard to match",
      inEveryField("a-".repeat(Math.floor(120_000 / Math.max(1, fields.length)))),
    ],
    ["too many values", list(120_000, 1)],
    ["too many fields", map(20_000, 1)],
    ["too deep", nest(200)],
  ];
  return entries.map(([name, value]) => ({ name, text: withinLimit(value) }));
}

function withinLimit(value: unknown): string {
  const text = JSON.stringify(value);
  // A body that is cut off is no JSON, and costs as much to scan.
  return text.length <= MAX_BYTES ? text : text.slice(0, MAX_BYTES);
}

function fill(node: Node, leaf: Leaf, excess: number): Record<string, unknown> {
  const properties = Object.entries(node.properties ?? {});
  return Object.fromEntries(properties.map(([name, property]) => [name, fillValue(property, leaf, excess)]));
}

function fillValue(node: Node, leaf: Leaf, excess: number): unknown {
  const { items, properties, maxItems = MANY, maxProperties = MAX_FIELDS, anyOf } = node;
  if (anyOf?.[0] !== undefined) return fillValue(anyOf[0], leaf, excess);
  if (properties !== undefined) return fill(node, leaf, excess);
  if (items !== undefined) {
    const count = Math.min(maxItems * excess, excess === 1 ? maxItems : MANY / 4);
    return Array.from({ length: count }, () => fillValue(items, leaf, 1));
  }
  if (node.type === "object")
    return map(Math.min(MAX_FIELDS, maxProperties * excess), leaf({ type: "string" }));
  return leaf(node);
}

function rightLeaf({ type, enum: values, maxLength = 8, minimum = 1 }: Node): unknown {
  if (values !== undefined) return values[0];
  if (type === "string") return "a".repeat(Math.min(maxLength, 16));
  return type === "boolean" ? true : Math.max(minimum, 1);
}

function wrongLeaf({ type }: Node): unknown {
  return type === "string" ? 5 : "x";
}

function map(count: number, value: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`key-${n}`, value]));
}

function nest(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { a: [value] };
  return value;
}
