import { expect, test } from "vitest";
import { parse } from "yaml";
import { toCompactJson, toCompactYaml } from "./compact.ts";

const role = {
  kind: "Role",
  rules: [
    { resources: ["pods", "services"], verbs: ["get"] },
    { resources: [], note: "a: b, c\nd" },
  ],
};

test("JSON has a line for each entry of the outer levels, and is the same document", () => {
  const text = toCompactJson(role, 2);
  expect(text.split("\n")).toEqual([
    "{",
    '  "kind": "Role",',
    '  "rules": [',
    '    {"resources":["pods","services"],"verbs":["get"]},',
    '    {"resources":[],"note":"a: b, c\\nd"}',
    "  ]",
    "}",
  ]);
  expect(JSON.parse(text)).toEqual(role);
});

test("YAML has short lists and objects in one line, texts of several lines as they are, and is the same document", () => {
  const text = toCompactYaml(role);
  expect(text.split("\n")).toEqual([
    "kind: Role",
    "rules:",
    "  - {resources: [pods, services], verbs: [get]}",
    "  - resources: []",
    "    note: |-",
    "      a: b, c",
    "      d",
    "",
  ]);
  expect(parse(text)).toEqual(role);
});
