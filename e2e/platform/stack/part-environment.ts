import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { inject } from "vitest";

/** The environment of a part of the shared stack, from the same file that `--env-file` reads. */
export function readPartEnvironment(part: "apiserver" | "operator"): Record<string, string> {
  const text = readFileSync(join(dirname(inject("stackJson")), `${part}.env`), "utf8");
  return { ...definedOnly(parseEnv(text)), PATH: process.env.PATH ?? "" };
}

function definedOnly(variables: NodeJS.Dict<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
