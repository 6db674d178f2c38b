import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../../platform/stack/tools.ts";
import { writeDocument } from "../openapi/document.ts";
import { runCommand } from "./client.ts";

const VERSION = "7.14.0";
const COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";

/** The folder of the programs that use the clients. */
export const PROGRAMS = join(import.meta.dirname, "programs");

/**
 * Generates a client of the document. The generator comes by Maven, with the user's Maven settings, at the first use.
 */
export async function generateClient(
  generator: string,
  folder: string,
  options: readonly string[] = [],
): Promise<void> {
  const input = ["-jar", await ensureGenerator(), "generate", "-i", writeDocument(), "-g", generator];
  // Errors alone: it prints a line for each file that it writes.
  const env = { JAVA_TOOL_OPTIONS: "-Dlog.level=error" };
  await runCommand("java", [...input, "-o", folder, ...options], { env });
}

async function ensureGenerator(): Promise<string> {
  const home = join(cacheRoot(), `openapi-generator-${VERSION}`);
  const jar = `openapi-generator-cli-${VERSION}.jar`;
  if (!existsSync(join(home, jar))) {
    const draft = `${home}.${process.pid}.part`;
    mkdirSync(draft, { recursive: true });
    const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${VERSION}`;
    await runCommand("mvn", ["-q", "-B", COPY_GOAL, artifact, `-DoutputDirectory=${draft}`]);
    renameSync(draft, home);
  }
  return join(home, jar);
}
