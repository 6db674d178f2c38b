/** SQLSTATEs of a temporary failure: shutdown, start-up, too many connections, a cancelled statement. */
const UNAVAILABLE_STATES = new Set(["57P01", "57P02", "57P03", "53300", "57014"]);

/** Codes of postgres.js and of Node's sockets for a missing connection. */
const CONNECTION_CODES = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/** The name of the violated unique constraint (SQLSTATE 23505), searched through the chain of causes. */
export function uniqueViolationOf(error: unknown): string | undefined {
  const cause = findDriverError(error);
  if (cause?.code !== "23505") return undefined;
  return typeof cause.constraint_name === "string" ? cause.constraint_name : "";
}

/** Whether a query failed because Postgres is unavailable. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = findDriverError(error)?.code;
  if (code === undefined) return false;
  return CONNECTION_CODES.has(code) || UNAVAILABLE_STATES.has(code) || code.startsWith("08");
}

/** What a log may hold of a failed query: the SQLSTATE and the server's message, never SQL or parameters. */
export function describeDatabaseError(error: unknown): { code: string; message: string } | undefined {
  const cause = findDriverError(error);
  return cause === undefined ? undefined : { code: cause.code, message: cause.message };
}

interface DriverError {
  code: string;
  message: string;
  constraint_name?: unknown;
}

function findDriverError(error: unknown): DriverError | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    if (isDriverError(current)) return current;
    current = current.cause;
  }
  return undefined;
}

function isDriverError(error: Error): error is Error & DriverError {
  const named =
    error.name === "PostgresError" || ("code" in error && CONNECTION_CODES.has(String(error.code)));
  return named && "code" in error && typeof error.code === "string";
}
