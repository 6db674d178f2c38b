/** SQLSTATEs of a temporary failure: shutdown, start-up, too many connections, a cancelled statement. */
const UNAVAILABLE_STATES = new Set(["57P01", "57P02", "57P03", "53300", "57014"]);

/** The SQLSTATE of a lock that was not free within `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = "55P03";

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

/** SQLSTATEs, https://www.postgresql.org/docs/current/errcodes-appendix.html */
const REFUSED_STATES = new Set(["28P01", "28000"]);
const NO_DATABASE = "3D000";
/** The server was reached, and ended the statement. */
const CANCELLED = "57014";

/** Codes of Node for a certificate that is not trusted or is of another name. */
const CERTIFICATE_CODE = /^(CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_)/;

/** What the address of a database names, for sentences; without the password. */
export function describeAddress(databaseUrl: string): { host: string; role: string; database: string } {
  const url = new URL(databaseUrl);
  return {
    host: url.host,
    role: decodeURIComponent(url.username),
    database: decodeURIComponent(url.pathname.slice(1)),
  };
}

/**
 * Why the database at MARINA_DATABASE_URL cannot be used, as one sentence that says what to correct; undefined for an
 * error that is not of the connection.
 */
export function explainConnectionFault(error: unknown, databaseUrl: string): string | undefined {
  const { host, role, database } = describeAddress(databaseUrl);
  const certificateCode = findCertificateCode(error);
  if (certificateCode !== undefined) {
    return `The certificate of Postgres at ${host} is not accepted (${certificateCode}): its authority must be in the file of NODE_EXTRA_CA_CERTS (the chart's caBundleConfigMap), and its name the host in MARINA_DATABASE_URL.`;
  }
  const code = describeDatabaseError(error)?.code;
  if (code === undefined) return undefined;
  if (REFUSED_STATES.has(code)) {
    return `Postgres refused the role "${role}": check the role and its password in MARINA_DATABASE_URL.`;
  }
  if (code === NO_DATABASE) {
    return `Postgres has no database "${database}": create it, or correct its name in MARINA_DATABASE_URL.`;
  }
  if (isDatabaseUnavailable(error) && code !== CANCELLED) {
    return `Postgres at ${host} cannot be reached (${code}): check the address in MARINA_DATABASE_URL and that the network lets this program connect.`;
  }
  return undefined;
}

function findCertificateCode(error: unknown): string | undefined {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return CERTIFICATE_CODE.test(code) ? code : undefined;
}
