import type { z } from "zod";

/** The configuration is wrong; the message lists every fault, one per line, by variable. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Parses environment variables by `schema`. Throws ConfigError with all faults at once. */
export function parseEnvironment<S extends z.ZodType>(
  schema: S,
  environment: Readonly<Record<string, string | undefined>>,
): z.output<S> {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigError(`The configuration is wrong:\n${faults.join("\n")}`);
}
