import { z } from "zod";

const schemaShape = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  format: z.string().optional(),
  pattern: z.string().optional(),
  get items() {
    return schemaShape.optional();
  },
  get anyOf() {
    return z.array(schemaShape).optional();
  },
  get oneOf() {
    return z.array(schemaShape).optional();
  },
  get properties() {
    return z.record(z.string(), schemaShape).optional();
  },
  required: z.array(z.string()).optional(),
  example: z.unknown().optional(),
});
const contentShape = z
  .record(
    z.string(),
    z.looseObject({
      schema: schemaShape.optional(),
      example: z.unknown().optional(),
      examples: z.record(z.string(), z.looseObject({ value: z.unknown().optional() })).optional(),
    }),
  )
  .optional();
const operationShape = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.string(),
        required: z.boolean().optional(),
        schema: schemaShape,
      }),
    )
    .optional(),
  requestBody: z.looseObject({ content: contentShape }).optional(),
  responses: z.record(z.string(), z.looseObject({ description: z.string(), content: contentShape })),
});
/** What the reference page reads of an OpenAPI document. */
export const documentShape = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string() }),
  tags: z.array(z.looseObject({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
  webhooks: z.record(z.string(), z.looseObject({ post: operationShape })),
  components: z.looseObject({ schemas: z.record(z.string(), schemaShape) }),
});

export type Schema = z.output<typeof schemaShape>;
export type Content = z.output<typeof contentShape>;
export type Documented = z.output<typeof documentShape>;
/** An operation with where it is found. The method is in lower case. */
export type PlacedOperation = z.output<typeof operationShape> & { method: string; path: string };

/** Every operation in the order of the document. */
export function listPlaced({ paths }: Documented): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method, path })),
  );
}

/** The name of the component that a reference like `#/components/schemas/Cluster` names. */
export function componentName(ref: string): string {
  return ref.split("/").at(-1) ?? "";
}

/** The languages of the examples, in the order of the page. */
export const LANGUAGES = ["curl", "TypeScript", "Python", "Go"] as const;
export type Language = (typeof LANGUAGES)[number];

/** A request with every required parameter filled in by the examples of the document. */
interface ExampleRequest {
  /** In upper case. */
  method: string;
  url: string;
  /** Whether the credential in the environment variable TOKEN is sent. */
  authorized: boolean;
  headers: readonly [string, string][];
  /** undefined: none. */
  body: unknown;
  /** Whether the first successful response has a body of JSON. */
  returnsJson: boolean;
}

const WRITERS: Readonly<Record<Language, (request: ExampleRequest) => string>> = {
  curl: writeCurl,
  TypeScript: writeTypeScript,
  Python: writePython,
  Go: writeGo,
};

/**
 * The operation called from each language, with what the language brings along. curl is for a POSIX shell, the others
 * are whole programs; each reads the credential from the environment variable TOKEN. `apiUrl` has no slash at its end.
 * Optional parameters are left out. Throws when the body or a required parameter has no example.
 */
export function writeExamples(
  operation: PlacedOperation,
  documented: Pick<Documented, "components">,
  apiUrl: string,
): Record<Language, string> {
  const request = fillRequest(operation, documented, apiUrl);
  const [curl, typeScript, python, go] = LANGUAGES.map((language) => WRITERS[language](request));
  return { curl: curl ?? "", TypeScript: typeScript ?? "", Python: python ?? "", Go: go ?? "" };
}

function fillRequest(
  operation: PlacedOperation,
  { components }: Pick<Documented, "components">,
  apiUrl: string,
): ExampleRequest {
  const { method, operationId, parameters = [], security, requestBody } = operation;
  const exampleOf = (what: string, schema: Schema | undefined): unknown => {
    const resolved = schema?.$ref === undefined ? schema : components.schemas[componentName(schema.$ref)];
    if (resolved?.example === undefined) throw new Error(`${operationId}: ${what} has no example`);
    return resolved.example;
  };
  const valuesIn = (place: string): [string, string][] =>
    parameters
      .filter((parameter) => parameter.required === true && parameter.in === place)
      .map(({ name, schema }) => [name, String(exampleOf(name, schema))]);

  const query = new URLSearchParams(valuesIn("query")).toString();
  const path = valuesIn("path").reduce(
    (filled, [name, value]) => filled.replace(`{${name}}`, () => encodeURIComponent(value)),
    operation.path,
  );
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  return {
    method: method.toUpperCase(),
    url: `${apiUrl}${path}${query === "" ? "" : `?${query}`}`,
    authorized: security.length > 0,
    headers: valuesIn("header"),
    body:
      requestBody === undefined
        ? undefined
        : exampleOf("the body", requestBody.content?.["application/json"]?.schema),
    returnsJson: success?.[1].content?.["application/json"] !== undefined,
  };
}

function writeCurl({ method, url, authorized, headers, body }: ExampleRequest): string {
  const parts = [`curl ${method === "GET" ? "" : `-X ${method} `}${quote(url)}`];
  // In double quotes, since the shell puts the value of $TOKEN in.
  if (authorized) parts.push('-H "Authorization: Bearer $TOKEN"');
  for (const [name, value] of headers) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (body !== undefined)
    parts.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body, undefined, 2))}`);
  return parts.join(" \\\n  ");
}

function writeTypeScript({ method, url, authorized, headers, body, returnsJson }: ExampleRequest): string {
  const sent = [
    ...(authorized ? ['Authorization: "Bearer " + process.env.TOKEN,'] : []),
    ...headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    ...(body === undefined ? [] : ['"Content-Type": "application/json",']),
  ];
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}",`]),
    ...(sent.length === 0 ? [] : ["headers: {", ...sent.map((line) => `  ${line}`), "},"]),
    ...(body === undefined ? [] : `body: JSON.stringify(${JSON.stringify(body, undefined, 2)}),`.split("\n")),
  ];
  const call =
    options.length === 0
      ? [`const response = await fetch(${JSON.stringify(url)});`]
      : [
          `const response = await fetch(${JSON.stringify(url)}, {`,
          ...options.map((line) => `  ${line}`),
          "});",
        ];
  return [
    ...call,
    "if (!response.ok) throw new Error(await response.text());",
    `console.log(await response.${returnsJson ? "json" : "text"}());`,
  ].join("\n");
}

function writePython({ method, url, authorized, headers, body, returnsJson }: ExampleRequest): string {
  const sent = [
    ...(authorized ? [`"Authorization": "Bearer " + os.environ["TOKEN"],`] : []),
    ...headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},`),
    ...(body === undefined ? [] : ['"Content-Type": "application/json",']),
  ];
  const modules = [...(body !== undefined || returnsJson ? ["json"] : []), ...(authorized ? ["os"] : [])];
  return [
    `import ${[...modules, "urllib.request"].join(", ")}`,
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    ...(sent.length === 0 ? [] : ["    headers={", ...sent.map((line) => `        ${line}`), "    },"]),
    ...(body === undefined ? [] : [`    data=json.dumps(${toPython(body, "    ")}).encode(),`]),
    ")",
    "with urllib.request.urlopen(request) as response:",
    returnsJson ? "    print(json.load(response))" : "    print(response.read().decode())",
  ].join("\n");
}

/** A value of JSON as Python writes it; its escapes of text are those of JSON. */
function toPython(value: unknown, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const lines = Array.isArray(value)
    ? value.map((entry) => toPython(entry, inner))
    : Object.entries(value).map(([name, entry]) => `${JSON.stringify(name)}: ${toPython(entry, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (lines.length === 0) return `${open}${close}`;
  return `${open}\n${lines.map((line) => `${inner}${line},\n`).join("")}${indent}${close}`;
}

function writeGo({ method, url, authorized, headers, body }: ExampleRequest): string {
  const packages = ["io", "log", "net/http", "os", ...(body === undefined ? [] : ["strings"])];
  const text = JSON.stringify(body, undefined, 2);
  // A raw string of Go holds no backquote; an interpreted one has the escapes of JSON.
  const literal = text?.includes("`") === true ? JSON.stringify(text) : `\`${text}\``;
  const sent: [string, string][] = [
    ...(authorized ? [["Authorization", '"Bearer "+os.Getenv("TOKEN")'] satisfies [string, string]] : []),
    ...headers.map(([name, value]) => [name, JSON.stringify(value)] satisfies [string, string]),
    ...(body === undefined ? [] : [["Content-Type", '"application/json"'] satisfies [string, string]]),
  ];
  return `package main

import (
${packages.map((name) => `\t"${name}"\n`).join("")})

func main() {
\trequest, err := http.NewRequest("${method}", ${JSON.stringify(url)}, ${body === undefined ? "nil" : `strings.NewReader(${literal})`})
\tif err != nil {
\t\tlog.Fatal(err)
\t}
${sent.map(([name, value]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${value})\n`).join("")}\tresponse, err := http.DefaultClient.Do(request)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tdefer response.Body.Close()
\tlog.Print(response.Status)
\tif _, err := io.Copy(os.Stdout, response.Body); err != nil {
\t\tlog.Fatal(err)
\t}
}`;
}

/** One word of a POSIX shell, in which nothing is replaced. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
