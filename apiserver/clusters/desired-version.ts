import { z } from "@hono/zod-openapi";
import type { ProjectedCluster } from "../resources/project/index.ts";

/** `MAJOR.MINOR` or `MAJOR.MINOR.PATCH` (spec 4.21), without leading zeros and without a leading `v`. */
const VERSION_PATTERN = /^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3}))?$/;

const MESSAGE = "must be MAJOR.MINOR or MAJOR.MINOR.PATCH, as 1.35 or 1.35.1";

/** The desired version in full: an object can name MAJOR.MINOR, which the operator resolves. */
export function desiredVersionOf({ spec, status }: ProjectedCluster["object"]): string {
  const desired = withoutPrefix(spec.version);
  const isFull = desired.split(".").length === 3;
  return isFull || status?.targetVersion === undefined ? desired : withoutPrefix(status.targetVersion);
}

/** A version as REST shows it. */
export function withoutPrefix(version: string): string {
  return version.replace(/^v/, "");
}

/** A Kubernetes version in a body. */
export function versionField(description: string, example: string) {
  return z
    .string()
    .max(16, { error: MESSAGE })
    .regex(VERSION_PATTERN, { error: MESSAGE })
    .openapi({ description, example });
}
