import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toCompactJson } from "../../../shared/crd/compact.ts";
import { ensureGateTool } from "../../checks/gates/tools.ts";
import {
  type Document,
  type DocumentedResponse,
  document,
  withoutRepeatedTypes,
  writeDocument,
} from "./document.ts";

/** The interface as clients have it: replaced only when a release is made. */
const RELEASED_FILE = join(import.meta.dirname, "../../../apiserver/openapi/openapi.released.json");
/** A line for each operation (paths, path, method) and for each component (components, kind, name). */
const LINE_DEPTH = 3;
/** Where this API promises more, or less, than oasdiff assumes: enums of responses may grow, error statuses may not go. */
const SEVERITY_LEVELS = join(import.meta.dirname, "severity-levels.txt");

/**
 * Compares two files with OpenAPI documents. Returns one line per change that breaks a client of the older one, by the
 * rules of oasdiff (`oasdiff checks changelog`) and of `findRemovedErrorCodes`.
 */
export async function findOpenApiBreaks(beforeFile: string, afterFile: string): Promise<string[]> {
  const before = readDocument(beforeFile);
  const after = readDocument(afterFile);
  return [...(await runOasdiff(before, after)), ...findRemovedErrorCodes(before, after)];
}

async function runOasdiff(before: Document, after: Document): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), "marina-openapi-"));
  try {
    const files = [before, after].map((document, index) => {
      const file = join(directory, `${index}.json`);
      const compared: unknown = JSON.parse(JSON.stringify(document, withoutRepeatedTypes));
      writeFileSync(file, JSON.stringify(compared, withoutDescription));
      return file;
    });
    const args = ["breaking", ...files, "--severity-levels", SEVERITY_LEVELS, "--format", "json"];
    const { status, stdout, stderr } = spawnSync(await ensureGateTool("oasdiff"), args, {
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status !== 0) throw new Error(`oasdiff failed: ${stderr}`);
    const changes: { id: string; operation: string; path: string; text: string }[] = JSON.parse(stdout);
    return changes.map(({ id, operation, path, text }) => `${operation} ${path}: ${text} [${id}]`);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** In `anyOf`, oasdiff takes a schema with another description for another schema. */
function withoutDescription(key: string, value: unknown): unknown {
  return key === "description" && typeof value === "string" ? "" : value;
}

/** The examples of an error response are named by the codes that it can carry, which oasdiff does not compare. */
function findRemovedErrorCodes(before: Document, after: Document): string[] {
  return Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.entries(responses).flatMap(([status, response]) => {
        const current = after.paths[path]?.[method]?.responses[status];
        const removed = codesOf(response).filter((code) => current && !codesOf(current).includes(code));
        const where = `${method.toUpperCase()} ${path}`;
        return removed.map((code) => `${where}: removed the code ${code} of ${status} [error-code-removed]`);
      }),
    ),
  );
}

function codesOf({ content }: DocumentedResponse): string[] {
  return Object.keys(content?.["application/json"]?.examples ?? {});
}

function readDocument(file: string): Document {
  return JSON.parse(readFileSync(file, "utf8"));
}

if (import.meta.main) {
  const breaks = await findOpenApiBreaks(RELEASED_FILE, writeDocument());
  if (breaks.length > 0 && !process.argv.includes("--break")) {
    process.stderr.write(`The API breaks clients of the released one:\n  ${breaks.join("\n  ")}\n`);
    process.exitCode = 1;
  } else if (process.argv.includes("--renew")) {
    writeFileSync(RELEASED_FILE, `${toCompactJson(document, LINE_DEPTH)}\n`);
  }
}
