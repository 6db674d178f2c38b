import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { GENERATED_FOLDER, writeDocument } from "./document.ts";
import { ensureOpenApiTools } from "./tools.ts";

/** Writes the document and the TypeScript types made of it, which all of e2e is compiled with. */
const command = join(await ensureOpenApiTools(), ".bin", "openapi-typescript");
// A field with a default may be left out of a request.
const options = ["--output", join(GENERATED_FOLDER, "client.ts"), "--default-non-nullable", "false"];
const child = spawn(command, [writeDocument(), ...options], { stdio: ["ignore", "ignore", "inherit"] });
const [code] = (await once(child, "close")) as [number | null];
if (code !== 0) process.exitCode = 1;
