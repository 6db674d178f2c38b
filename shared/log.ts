import { type DestinationStream, pino } from "pino";

export type { Logger } from "pino";

const SECRET_NAMES: ReadonlySet<string> = new Set([
  "authorization",
  "Authorization",
  "token",
  "accessToken",
  "secret",
  "password",
  "kubeconfig",
  "cookie",
  "privateKey",
]);
/** How far below the fields of a line a secret is looked for. */
const SECRET_DEPTH = 2;
const CENSORED = "[redacted]";

/**
 * Lines of JSON on standard output (or `destination`). Values under a secret's name, up to two levels deep, are
 * replaced by "[redacted]".
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }) {
  return pino(
    {
      name: options.name,
      level: options.level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        // pino's own redaction costs more than all the rest of a line.
        log: (fields) => redact(fields, SECRET_DEPTH),
        bindings: (fields) => redact(fields, SECRET_DEPTH),
      },
      serializers: { err: (error) => redact(pino.stdSerializers.err(error), SECRET_DEPTH - 1) },
    },
    options.destination,
  );
}

/** The same fields, or a copy without the secrets when there are any. */
function redact(fields: object, depth: number): Record<string, unknown> {
  const known = fields as Record<string, unknown>;
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(known)) {
    const value = known[name];
    const shown = redactValue(name, value, depth);
    if (shown === value) continue;
    copy ??= { ...known };
    copy[name] = shown;
  }
  return copy ?? known;
}

function redactValue(name: string, value: unknown, depth: number): unknown {
  if (SECRET_NAMES.has(name) && value !== undefined) return CENSORED;
  // Errors are looked through once they are written out.
  if (depth === 0 || typeof value !== "object" || value === null || value instanceof Error) return value;
  return redact(value, depth - 1);
}
