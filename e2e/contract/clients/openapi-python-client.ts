import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePythonPackages } from "../../platform/stack/python.ts";
import { writeDocument } from "../openapi/document.ts";
import { type Client, runCommand } from "./client.ts";
import { PROGRAMS } from "./openapi-generator.ts";

const VERSION = "0.29.1";
/** It knows JSON, text and bytes: the kubeconfig is text to it. */
const CONFIG = `content_type_overrides:
  application/yaml: text/plain
post_hooks: []
`;

/** The Python client of openapi-python-client; a warning of the generator is a failure. */
export const openapiPythonClient: Client = {
  name: "openapi-python-client",
  async prepare(folder) {
    const packages = [`openapi-python-client==${VERSION}`];
    const programs = await ensurePythonPackages(`openapi-python-client-${VERSION}`, packages);
    const [library, config] = [join(folder, "marina_client"), join(folder, "config.yaml")];
    writeFileSync(config, CONFIG);
    const output = ["--meta", "none", "--output-path", library, "--overwrite", "--fail-on-warning"];
    await runCommand(join(programs, "openapi-python-client"), [
      "generate",
      "--path",
      writeDocument(),
      "--config",
      config,
      ...output,
    ]);
    const command = join(programs, "python");
    await runCommand(command, ["-m", "compileall", "-q", library]);
    const story = join(PROGRAMS, "story_openapi_python_client.py");
    return { command, args: [story], env: { PYTHONPATH: folder } };
  },
};
