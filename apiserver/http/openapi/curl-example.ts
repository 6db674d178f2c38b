import { componentName, type Documented, type PlacedOperation, type Schema } from "./documented.ts";

/**
 * A command for a POSIX shell that calls the operation, with the examples of the document as parameters and body, and
 * the credential in $TOKEN. Optional parameters are left out. Throws when the body or a required parameter has no example.
 */
export function writeCurlExample(
  operation: PlacedOperation,
  { components }: Pick<Documented, "components">,
  apiUrl: string,
): string {
  const { method, operationId, parameters = [], security, requestBody } = operation;
  const required = parameters.filter((parameter) => parameter.required === true);
  const exampleOf = (what: string, schema: Schema | undefined): unknown => {
    const resolved = schema?.$ref === undefined ? schema : components.schemas[componentName(schema.$ref)];
    if (resolved?.example === undefined) throw new Error(`${operationId}: ${what} has no example`);
    return resolved.example;
  };
  const valuesIn = (place: string): [string, string][] =>
    required
      .filter((parameter) => parameter.in === place)
      .map(({ name, schema }) => [name, String(exampleOf(name, schema))]);

  const query = new URLSearchParams(valuesIn("query")).toString();
  const url = `${apiUrl}${fillPath(operation.path, valuesIn("path"))}${query === "" ? "" : `?${query}`}`;
  const verb = method === "get" ? "" : `-X ${method.toUpperCase()} `;
  const parts = [`curl ${verb}${quote(url)}`];
  // In double quotes, since the shell puts the value of $TOKEN in.
  if (security.length > 0) parts.push('-H "Authorization: Bearer $TOKEN"');
  for (const [name, value] of valuesIn("header")) parts.push(`-H ${quote(`${name}: ${value}`)}`);
  if (requestBody !== undefined) {
    const body = exampleOf("the body", requestBody.content?.["application/json"]?.schema);
    parts.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(body, undefined, 2))}`);
  }
  return parts.join(" \\\n  ");
}

function fillPath(path: string, values: readonly [string, string][]): string {
  return values.reduce(
    (filled, [name, value]) => filled.replace(`{${name}}`, () => encodeURIComponent(value)),
    path,
  );
}

/** One word of a POSIX shell, in which nothing is replaced. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
