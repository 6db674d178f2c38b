import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The folder of the sources of a module that go.mod in `moduleDir` names; fetched when no program needed it so far. */
export async function fetchGoModule(moduleDir: string, module: string): Promise<string> {
  const { stdout } = await run("go", ["mod", "download", "-json", module], { cwd: moduleDir });
  return JSON.parse(stdout).Dir;
}
