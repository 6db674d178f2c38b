import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The source folder of a module that go.mod in `moduleDir` names; downloaded when needed. */
export async function fetchGoModule(moduleDir: string, module: string): Promise<string> {
  const { stdout } = await run("go", ["mod", "download", "-json", module], { cwd: moduleDir });
  return JSON.parse(stdout).Dir;
}
