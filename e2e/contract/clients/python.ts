import { join } from "node:path";
import { ensurePythonPackages } from "../../platform/stack/python.ts";
import { type Client, runCommand } from "./client.ts";
import { generateClient, PROGRAMS } from "./openapi-generator.ts";

/** What the generated client imports, as its requirements.txt names it. */
const PACKAGES = [
  "urllib3==2.6.3",
  "python-dateutil==2.9.0.post0",
  "pydantic==2.12.5",
  "typing-extensions==4.15.0",
];

/** openapi-generator's Python client; every module is compiled and every model imported. */
export const python: Client = {
  name: "python",
  async prepare(folder) {
    await generateClient("python", folder, ["--package-name", "marina_client"]);
    const programs = await ensurePythonPackages("openapi-generator-python-1", PACKAGES);
    const command = join(programs, "python");
    await runCommand(command, ["-m", "compileall", "-q", join(folder, "marina_client")]);
    return { command, args: [join(PROGRAMS, "story_openapi_generator.py")], env: { PYTHONPATH: folder } };
  },
};
