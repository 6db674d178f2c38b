import { isSecretName } from "../../shared/program/log.ts";
import type { AuditFields } from "./table.ts";

const SECRET_VALUES =
  /mar_[0-9A-Za-z]{71}|whsec_[0-9a-f]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.|client-key-data/;
const REDACTED = "[redacted]";

/**
 * The fields of an audit row with every value hidden that is named or looks like a secret. Slices pass allow-listed
 * fields only; this is the second line of defence.
 */
export function redact(fields: AuditFields | null): AuditFields | null {
  return fields === null ? null : redactObject(fields);
}

function redactObject(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      isSecretName(name) && value !== null ? REDACTED : redactValue(value),
    ]),
  );
}

function redactValue(value: unknown): unknown {
  if (typeof value === "string") return SECRET_VALUES.test(value) ? REDACTED : value;
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return redactObject(value as Record<string, unknown>);
}
