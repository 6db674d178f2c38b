import { type ParseArgsConfig, parseArgs } from "node:util";

/**
 * The options of this program, as parseArgs gives them. Where the command line has another one, or lacks a value, it ends
 * with 2 and a line that names the options there are.
 */
export function readOptions<Config extends ParseArgsConfig>(
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith("ERR_PARSE_ARGS_") !== true) throw error;
    const names = Object.keys(config.options ?? {}).map((name) => `--${name}`);
    console.error(`${message.split(". ", 1)[0]}. The options are ${names.join(", ")}.`);
    process.exit(2);
  }
}
