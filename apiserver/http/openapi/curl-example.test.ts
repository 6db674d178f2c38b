import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { renderOpenApi } from "../../openapi/render.ts";
import { writeCurlExample } from "./curl-example.ts";
import { documentShape, listPlaced, type PlacedOperation } from "./documented.ts";

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
  expect(argumentsOf(writeCurlExample({ ...plain, ...changes }, empty, API_URL))).toEqual(expected);
});

test.each<[string, Partial<PlacedOperation>]>([
  ["a body", { requestBody: body(undefined) }],
  ["a required parameter", { parameters: [parameter("query", "from", undefined)] }],
])("%s without an example is refused with the name of the operation", (_, changes) => {
  expect(() => writeCurlExample({ ...plain, ...changes }, empty, API_URL)).toThrow(
    /readThing: .+ no example/,
  );
});

describe.each(listPlaced(document).map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (_, operation) => {
    test("has an example with every parameter filled in, and the body of the document", () => {
      const words = argumentsOf(writeCurlExample(operation, document, API_URL));
      const url = words.find((word) => word.startsWith(API_URL)) ?? "";
      expect(new URL(url).pathname.split("/")).toHaveLength(operation.path.split("/").length);
      expect(url).not.toMatch(/[{}]|undefined|null/);
      const sent = words.includes("-d") ? JSON.parse(words.at(-1) ?? "") : undefined;
      expect(typeof sent).toBe(operation.requestBody === undefined ? "undefined" : "object");
    });
  },
);
