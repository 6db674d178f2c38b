import { stripVTControlCharacters } from "node:util";

/**
 * The variables for a child whose output this process passes on: colours on a terminal alone, and there only where its user has not
 * turned them off (https://no-color.org).
 */
export function colourVariables(
  out: Pick<NodeJS.WriteStream, "isTTY">,
  env: NodeJS.ProcessEnv,
): { FORCE_COLOR?: string; NO_COLOR?: string } {
  if ("NO_COLOR" in env || "FORCE_COLOR" in env) return {};
  return out.isTTY ? { FORCE_COLOR: "1" } : { NO_COLOR: "1" };
}

/**
 * From now on a stream gets text without colours. For a program that has decided by its environment alone, before any code of
 * this project runs, as Vitest does.
 */
export function writePlain(stream: Pick<NodeJS.WriteStream, "write">): void {
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
  stream.write = (chunk: unknown, ...rest: unknown[]) =>
    write(typeof chunk === "string" ? stripVTControlCharacters(chunk) : chunk, ...rest);
}
