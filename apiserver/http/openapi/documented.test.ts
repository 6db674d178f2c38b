import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transform } from "esbuild";
import { describe, expect, test } from "vitest";
import { renderOpenApi } from "../../openapi/render.ts";
import { documentShape, listPlaced, type PlacedOperation, writeExamples } from "./documented.ts";

const API_URL = "https://api.example.com";
const document = documentShape.parse(JSON.parse(renderOpenApi()));

const plain: PlacedOperation = {
  operationId: "readThing",
  method: "get",
  path: "/things",
  summary: "Read a thing",
  tags: ["Things"],
  security: [{ bearer: [] }],
  responses: {},
};
const AUTHORIZATION = ["-H", "Authorization: Bearer secret"];
const JSON_TYPE = ["-H", "Content-Type: application/json"];

function parameter(place: string, name: string, example: unknown, required = true) {
  return { in: place, name, required, schema: { example } };
}

function body(example: unknown) {
  return { content: { "application/json": { schema: { example } } } };
}

/** The arguments that curl gets from the shell. */
function argumentsOf(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  const output = execFileSync("/bin/sh", ["-c", script], { env: { TOKEN: "secret" }, encoding: "utf8" });
  return output.split("\0").slice(0, -1);
}

const empty = { components: { schemas: {} } };

test.each<[string, Partial<PlacedOperation>, string[]]>([
  ["the token is sent", {}, [`${API_URL}/things`, ...AUTHORIZATION]],
  ["no token is sent where none is needed", { security: [] }, [`${API_URL}/things`]],
  [
    "another method than GET is named",
    { method: "delete" },
    ["-X", "DELETE", `${API_URL}/things`, ...AUTHORIZATION],
  ],
  [
    "parameters of the path are encoded",
    {
      path: "/things/{name}/{id}",
      parameters: [parameter("path", "id", 5), parameter("path", "name", "$& b/c")],
    },
    [`${API_URL}/things/%24%26%20b%2Fc/5`, ...AUTHORIZATION],
  ],
  [
    "required parameters of the query and headers are sent, optional ones are not",
    {
      parameters: [
        parameter("query", "from", "a&b"),
        parameter("query", "limit", 5, false),
        parameter("header", "If-Match", '"3"'),
        parameter("header", "Idempotency-Key", "k", false),
      ],
    },
    [`${API_URL}/things?from=a%26b`, ...AUTHORIZATION, "-H", 'If-Match: "3"'],
  ],
  [
    "the body reaches the API as it is in the document",
    { method: "post", requestBody: body('it\'s $HOME `id` \\ "x"') },
    [
      "-X",
      "POST",
      `${API_URL}/things`,
      ...AUTHORIZATION,
      ...JSON_TYPE,
      "-d",
      JSON.stringify('it\'s $HOME `id` \\ "x"'),
    ],
  ],
])("%s", (_, changes, expected) => {
  expect(argumentsOf(writeExamples({ ...plain, ...changes }, empty, API_URL).curl)).toEqual(expected);
});

test.each<[string, Partial<PlacedOperation>]>([
  ["a body", { requestBody: body(undefined) }],
  ["a required parameter", { parameters: [parameter("query", "from", undefined)] }],
])("%s without an example is refused with the name of the operation", (_, changes) => {
  expect(() => writeExamples({ ...plain, ...changes }, empty, API_URL).curl).toThrow(
    /readThing: .+ no example/,
  );
});

describe.each(listPlaced(document).map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (_, operation) => {
    test("has an example with every parameter filled in, and the body of the document", () => {
      const words = argumentsOf(writeExamples(operation, document, API_URL).curl);
      const url = words.find((word) => word.startsWith(API_URL)) ?? "";
      expect(new URL(url).pathname.split("/")).toHaveLength(operation.path.split("/").length);
      expect(url).not.toMatch(/[{}]|undefined|null/);
      const sent = words.includes("-d") ? JSON.parse(words.at(-1) ?? "") : undefined;
      expect(typeof sent).toBe(operation.requestBody === undefined ? "undefined" : "object");
    });
  },
);

/** Written as a program of each language: what a document may hold that a literal cannot. */
const hostile = {
  ...plain,
  method: "post",
  path: "/things/{name}",
  parameters: [parameter("path", "name", 'a"b'), parameter("header", "If-Match", '"3"')],
  requestBody: body({
    text: "`\"'\\n\n$x é\u2028",
    yes: true,
    no: false,
    none: null,
    list: [1.5, []],
    empty: {},
  }),
};
const operations = [...listPlaced(document), hostile];
const programs = operations.map((operation) =>
  writeExamples(operation, { components: document.components }, API_URL),
);

function hasProgram(name: string): boolean {
  return spawnSync(name, ["--help"]).error === undefined;
}

test("every field of every component has a type, those too that a PUT only accepts back", () => {
  const fields = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).map(([field, schema]) => ({
      name: `${name}.${field}`,
      keys: Object.keys(schema),
    })),
  );
  const typed = ["type", "$ref", "anyOf", "oneOf", "allOf", "const"];
  expect(fields.filter(({ keys }) => !keys.some((key) => typed.includes(key)))).toEqual([]);
});

test("every example in TypeScript can be parsed", async () => {
  const parsed = await Promise.all(
    programs.map(({ TypeScript }) => transform(TypeScript, { loader: "ts", format: "esm" })),
  );
  expect(parsed.flatMap(({ warnings }) => warnings)).toEqual([]);
});

test.skipIf(!hasProgram("python3"))(
  "every example in Python can be parsed, and sends the body of the document",
  () => {
    const check = `
import ast, json, sys
for text in json.load(sys.stdin):
    ast.parse(text)
calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "dumps"]
print(json.dumps(ast.literal_eval(calls[0].args[0])))`;
    const input = JSON.stringify(programs.map(({ Python }) => Python));
    const output = execFileSync("python3", ["-c", check], { input, encoding: "utf8" });
    expect(JSON.parse(output)).toEqual(hostile.requestBody.content["application/json"].schema.example);
  },
);

test.skipIf(!hasProgram("gofmt"))("every example in Go is formatted as gofmt formats it", () => {
  const folder = mkdtempSync(join(tmpdir(), "examples-"));
  try {
    programs.forEach(({ Go }, index) => {
      writeFileSync(join(folder, `${index}.go`), `${Go}\n`);
    });
    expect(execFileSync("gofmt", ["-l", folder], { encoding: "utf8" })).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
