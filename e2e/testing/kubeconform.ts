import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ensureTestTool } from "../platform/stack/test-tools.ts";
import { kubectl } from "../platform/stack/testing.ts";
import type { Rendered } from "./chart.ts";

interface Schema {
  properties?: Record<string, Schema>;
  required?: string[];
  [keyword: string]: unknown;
}

interface OpenApi {
  components: { schemas: Record<string, Schema> };
}

interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

/** Validates objects by kubeconform with the schemas that the stack's API server publishes. */
export interface Kubeconform {
  /** The faults of the objects, one line each; a field that the schema does not name is one. */
  findFaults(objects: readonly Rendered[]): Promise<string[]>;
}

/** Writes schemas into the folder as they are needed. */
export async function openKubeconform(folder: string): Promise<Kubeconform> {
  const program = await ensureTestTool("kubeconform");
  const written = new Map<string, Promise<void>>();
  const location = join(folder, "{{ .Group }}", "{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json");

  return {
    async findFaults(objects) {
      for (const { apiVersion } of objects) {
        const writing = written.get(apiVersion) ?? writeSchemas(folder, apiVersion);
        written.set(apiVersion, writing);
        await writing;
      }
      const args = ["-strict", "-output", "json", "-schema-location", location];
      const running = promisify(execFile)(program, args, { maxBuffer: 64 * 2 ** 20 });
      running.child.stdin?.end(objects.map((object) => JSON.stringify(object)).join("\n---\n"));
      // It ends with 1 when there are faults.
      const { stdout } = await running.catch((error: { stdout: string }) => error);
      const { resources } = JSON.parse(stdout) as { resources?: Record<string, string>[] };
      return (resources ?? []).map(({ kind, name, msg }) => `${kind} ${name}: ${msg}`);
    },
  };
}

/** The schemas of all kinds of an API version, closed against fields that they do not name. */
async function writeSchemas(folder: string, apiVersion: string): Promise<void> {
  const path = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
  const { stdout } = await kubectl(["get", "--raw", `/openapi/v3/${path}`]);
  const { components }: OpenApi = JSON.parse(stdout);
  for (const schema of Object.values(components.schemas)) close(schema);
  const place = join(folder, apiVersion.split("/")[0] ?? "");
  mkdirSync(place, { recursive: true });
  for (const [name, schema] of Object.entries(components.schemas)) {
    const kinds = (schema["x-kubernetes-group-version-kind"] ?? []) as GroupVersionKind[];
    for (const { group, version, kind } of kinds) {
      if ((group === "" ? version : `${group}/${version}`) !== apiVersion) continue;
      const file = join(place, `${kind.toLowerCase()}_${version}.json`);
      writeFileSync(file, JSON.stringify({ $ref: `#/components/schemas/${name}`, components }));
    }
  }
}

/**
 * Lets a schema accept no other fields than its own, nor ask for those that the API server fills in before it validates, and leaves
 * out what only OpenAPI 3.0 knows.
 */
function close(schema: Schema): void {
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema.properties !== undefined && schema.additionalProperties === undefined && !isOpen)
    schema.additionalProperties = false;
  // Built-in kinds publish the empty text, which nothing fills in, as the default of what they require.
  if (schema.required !== undefined)
    schema.required = schema.required.filter((name) => {
      const value = schema.properties?.[name]?.default;
      return typeof value !== "string" || value === "";
    });
  if (schema["x-kubernetes-int-or-string"] === true) {
    delete schema.type;
    schema.anyOf = [{ type: "integer" }, { type: "string" }];
  }
  for (const keyword of ["exclusiveMinimum", "exclusiveMaximum"])
    if (typeof schema[keyword] === "boolean") delete schema[keyword];
  for (const value of Object.values(schema.properties ?? {})) close(value);
  for (const keyword of ["items", "additionalProperties", "not"]) {
    const value = schema[keyword];
    if (typeof value === "object" && value !== null) close(value as Schema);
  }
}
