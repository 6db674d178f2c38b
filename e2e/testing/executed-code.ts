import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { isTestFile } from "../checks/architecture/imports.ts";

/** What a piece of work executed of the project's own production code, by functions that have a name. */
export interface ExecutedCode {
  /** Paths from the root of the repository. */
  files: readonly string[];
  namedFunctions: number;
}

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const isProduction = (path: string) => /^(apiserver|operator|shared)\//.test(path) && !isTestFile(path);

/**
 * Runs `work` and says what it executed, by V8's precise coverage of this thread. Whatever else runs in the thread
 * meanwhile counts too; what only loads a module does not.
 */
export async function recordExecutedCode(work: () => unknown): Promise<ExecutedCode> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await work();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const executed = result
      .map(({ url, functions }) => ({
        path: toRepositoryPath(url),
        // Exports are read by functions without a name, which the test's module loader makes.
        functions: functions.filter(
          ({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0,
        ),
      }))
      .filter(({ path, functions }) => isProduction(path) && functions.length > 0);
    return {
      files: executed.map(({ path }) => path).toSorted(),
      namedFunctions: executed.flatMap(({ functions }) => functions).length,
    };
  } finally {
    session.disconnect();
  }
}

function toRepositoryPath(url: string): string {
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  return path.startsWith(ROOT) ? path.slice(ROOT.length) : "";
}
