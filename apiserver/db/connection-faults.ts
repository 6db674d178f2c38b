import { describeDatabaseError, isDatabaseUnavailable } from "./errors.ts";

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
 * Why the database at MARINA_DATABASE_URL cannot be used, as one sentence that says what to correct; undefined for an error
 * that is not of the connection.
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
