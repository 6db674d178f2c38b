import { z } from "zod";
import { ExplainedError } from "./errors.ts";
import { describeJsonFault } from "./json-fault.ts";
import { suggestNearest } from "./nearest.ts";

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
  const parsed = schema.safeParse(environment, { error: describeUnknownFields });
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
  throw new ConfigError(`The configuration is invalid:\n${errors.join("\n")}`);
}

function describeUnknownFields({ code, inst, ...issue }: z.core.$ZodRawIssue): string | undefined {
  if (code !== "unrecognized_keys" || !(inst instanceof z.ZodObject)) return undefined;
  const known = Object.keys(inst.shape);
  const keys = issue.keys as string[];
  return keys.map((key) => `has no field ${JSON.stringify(key)}${suggestNearest(key, known)}`).join(", and ");
}

/** The schema of a variable that holds JSON. A text that is none is an error with its line and column. */
export function jsonText<T extends z.ZodType>(schema: T) {
  return z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: "custom", message: `is ${describeJsonFault(text)}` });
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
