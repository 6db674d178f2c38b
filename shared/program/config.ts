import { z } from "zod";
import { ExplainedError } from "./errors.ts";
import { describeJsonFault } from "./json-fault.ts";
import type { Logger } from "./log.ts";
import { suggestNearest } from "./wording.ts";

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** An invalid configuration; the message lists every error, one per line, by variable. */
export class ConfigError extends ExplainedError {
  override readonly name = "ConfigError";
}

/**
 * Parses environment variables by `schema`. Throws ConfigError with all errors at once, and with what may be
 * misspelled.
 */
export function parseEnvironment<S extends z.ZodType>(
  schema: S,
  environment: Readonly<Record<string, string | undefined>>,
): z.output<S> {
  const parsed = schema.safeParse(environment, { error: describeUnknownFields });
  if (parsed.success) return parsed.data;
  const errors = [
    ...parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`),
    ...describeUnknownVariables(schema, environment).map((sentence) => `  ${sentence}`),
  ];
  throw new ConfigError(`The configuration is invalid:\n${errors.join("\n")}`);
}

/** Says once at the start of a program which variables may be misspelled: they have no effect. */
export function warnOfUnknownVariables(
  log: Pick<Logger, "warn">,
  schema: z.ZodType,
  environment = process.env,
): void {
  const unknown = describeUnknownVariables(schema, environment);
  if (unknown.length > 0) log.warn({ unknown }, "variables of the environment have no effect");
}

/** Variables that Kubernetes gives to Pods for each Service of their Namespace, as `MARINA_APISERVER_SERVICE_HOST`. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT(_.+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.+)?)?)$/;

/**
 * A sentence for each variable that looks like a misspelled one of `schema`: it begins with `MARINA_`, is none of them
 * and is like one of them. Others may be those of another program, or come from Kubernetes.
 */
export function describeUnknownVariables(
  schema: z.ZodType,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const known = listVariables(schema);
  return Object.keys(environment)
    .filter((name) => name.startsWith("MARINA_") && !known.includes(name) && !SERVICE_LINK.test(name))
    .map((name) => ({ name, suggestion: suggestNearest(name, known) }))
    .filter(({ suggestion }) => suggestion !== "")
    .map(({ name, suggestion }) => `${name} is no setting of this program${suggestion}`);
}

/** The variables of objects that are joined by `and` or transformed. */
function listVariables(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodPipe) return listVariables(schema.def.in as z.ZodType);
  if (schema instanceof z.ZodIntersection)
    return [schema.def.left, schema.def.right].flatMap((part) => listVariables(part as z.ZodType));
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/** The fields of the object in which zod found unknown ones; undefined for another issue. */
export function findKnownFields({ code, inst }: z.core.$ZodRawIssue): string[] | undefined {
  return code === "unrecognized_keys" && inst instanceof z.ZodObject ? Object.keys(inst.shape) : undefined;
}

function describeUnknownFields(issue: z.core.$ZodRawIssue): string | undefined {
  const known = findKnownFields(issue);
  if (known === undefined) return undefined;
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
