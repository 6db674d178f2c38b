import { z } from "zod";
import { ExplainedError } from "./errors.ts";

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** An invalid configuration; the message lists every error, one per line, by variable. */
export class ConfigError extends ExplainedError {
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

/** The schema of a variable that holds JSON. */
export function jsonText<T extends z.ZodType>(schema: T) {
  return z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: "custom", message: "is not valid JSON" });
        return z.NEVER;
      }
    })
    .pipe(schema);
}

/** Whether no one between client and server can change what is read: https, or http within this machine. */
export function isProtectedUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}
