import { type DestinationStream, pino } from "pino";

export type { Logger } from "pino";

const secretKeys = [
  "authorization",
  "Authorization",
  "token",
  "accessToken",
  "secret",
  "password",
  "kubeconfig",
  "cookie",
  "privateKey",
];

/**
 * Lines of JSON on standard output (or `destination`). Values under a secret's name, up to two levels deep, are
 * replaced by "[redacted]".
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }) {
  return pino(
    {
      name: options.name,
      level: options.level,
      redact: {
        paths: secretKeys.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]),
        censor: "[redacted]",
      },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    options.destination ?? pino.destination({ dest: 1, sync: true }),
  );
}
