import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger };

/** Levels of nested objects that are searched for secrets. */
const SECRET_DEPTH = 2;
const REDACTED = "[redacted]";
const REPEAT_MS = 60_000;

/**
 * Writes lines of JSON to standard output (or `destination`). Values of fields with a secret name, up to two levels
 * deep, are replaced by "[redacted]".
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }) {
  return pino(
    {
      name: options.name,
      level: options.level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        // pino's own redaction takes 50 µs a line, this takes 2 µs.
        log: (fields) => redact(fields, SECRET_DEPTH),
        bindings: (fields) => redact(fields, SECRET_DEPTH),
      },
      serializers: { err: (error) => redact(pino.stdSerializers.err(error), SECRET_DEPTH - 1) },
    },
    options.destination,
  );
}

/** Lines are written when so many bytes wait, and every so often. */
const BUFFERED_BYTES = 4096;
const FLUSH_EVERY_MS = 100;
/** Lines beyond so many bytes that wait are dropped: a reader that stalls must not fill the memory of the program. */
const MAX_WAITING_BYTES = 4 * 1024 ** 2;

/**
 * A logger to standard output for a program that logs every request: it writes several lines at once, 100 ms late at
 * most, and those that wait at the end of the process unless it is killed. At most 4 MiB of lines wait: those beyond
 * are dropped, and a line says how many.
 */
export function createBufferedLogger(options: { name: string; level: string }): Logger {
  const output = pino.destination({
    sync: false,
    minLength: BUFFERED_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: FLUSH_EVERY_MS,
  });
  const log = createLogger({ ...options, destination: output });
  let dropped = 0;
  output.on("drop", () => {
    dropped += 1;
  });
  output.on("drain", () => {
    if (dropped === 0) return;
    log.warn({ lines: dropped }, "lines of the log were dropped: standard output was read too slowly");
    dropped = 0;
  });
  return log;
}

/** `fields` unchanged, or a redacted copy when it contains secrets. */
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
  if (isSecretName(name) && value !== undefined) return REDACTED;
  // The `err` serializer redacts errors.
  if (depth === 0 || typeof value !== "object" || value === null || value instanceof Error) return value;
  return redact(value, depth - 1);
}

const SECRET_NAME =
  /^(?:.*_)?(?:secrets?|secret_hash|tokens?|accessToken|password|passphrase|kubeconfig|authorization|cookie|credentials?|private_?key|api_key)$/i;

/** Whether the values of a field with this name are secret: neither the log nor an audit row may hold them. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/**
 * Logs warnings of something that is tried again and again: another sentence than the last at once, the same one once a
 * minute.
 */
export function createRepeatedWarning(
  log: Pick<Logger, "warn">,
  nowMs: () => number = Date.now,
): (sentence: string) => void {
  let last: { sentence: string; atMs: number } | undefined;
  return (sentence) => {
    if (last?.sentence === sentence && nowMs() - last.atMs < REPEAT_MS) return;
    last = { sentence, atMs: nowMs() };
    log.warn(sentence);
  };
}
