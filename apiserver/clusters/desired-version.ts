import type { ProjectedCluster } from "../projection/index.ts";

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
