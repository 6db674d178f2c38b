import { z } from "@hono/zod-openapi";

/** `MAJOR.MINOR` or `MAJOR.MINOR.PATCH` (spec 4.21), without leading zeros and without a leading `v`. */
const VERSION_PATTERN = /^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3}))?$/;

const MESSAGE = "must be MAJOR.MINOR or MAJOR.MINOR.PATCH, as 1.35 or 1.35.1";

/** A Kubernetes version in a body. */
export function versionField(description: string, example: string) {
  return z
    .string()
    .max(16, { error: MESSAGE })
    .regex(VERSION_PATTERN, { error: MESSAGE })
    .openapi({ description, example });
}
