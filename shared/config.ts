import type { z } from "zod";

/** An invalid configuration; the message lists every error, one per line, by variable. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Parses environment variables by `schema`. Throws ConfigError with all errors at once. */
export function parseEnvironment<S extends z.ZodType>(
  schema: S,
  environment: Readonly<Record<string, string | undefined>>,
): z.output<S> {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigError(`The configuration is invalid:\n${errors.join("\n")}`);
}
