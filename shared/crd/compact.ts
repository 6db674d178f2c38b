import { Document, visit } from "yaml";

/**
 * JSON of which only the outer `depth` levels are broken into lines, an entry a line: a generated document whose
 * changes are read by entries (an operation, a table) has a line for each of these.
 */
export function toCompactJson(value: unknown, depth: number, indent = ""): string {
  if (depth === 0 || typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((item) => toCompactJson(item, depth - 1, inner))
    : Object.entries(value).map(
        ([key, item]) => `${JSON.stringify(key)}: ${toCompactJson(item, depth - 1, inner)}`,
      );
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return open + close;
  return `${open}\n${entries.map((entry) => inner + entry).join(",\n")}\n${indent}${close}`;
}

/** A list or an object that needs no more characters as JSON than this stands in one line. */
const MAX_FLOW_LENGTH = 100;

/** YAML in which short lists and objects stand in one line each, as a rule of a role or the schema of a field does. */
export function toCompactYaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_key, node, path) {
      const text = JSON.stringify(node);
      const isRoot = path.length === 1;
      node.flow = !isRoot && text.length <= MAX_FLOW_LENGTH && !text.includes("\\n");
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}
