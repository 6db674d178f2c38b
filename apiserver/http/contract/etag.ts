import { ApiError } from "../errors.ts";

/** The entity tag of a Postgres record with a version column: `"3"`. */
export function versionTag(version: number): string {
  return `"${version}"`;
}

/** The entity tag of a custom resource: `"<generation>-<resourceVersion>"`. */
export function objectTag(metadata: { generation?: number; resourceVersion?: string }): string {
  return `"${metadata.generation ?? 0}-${metadata.resourceVersion ?? ""}"`;
}

/** Whether If-None-Match names this tag (weak comparison, RFC 9110 section 13.1.2), so that the response is 304. */
export function isNotModified(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return parseTags(ifNoneMatch).some(
    (candidate) => candidate === "*" || candidate.replace(/^W\//, "") === tag,
  );
}

/**
 * Refuses with 412 when If-Match is there and names another version than `tag`. Only the part before the first `-`
 * counts: of a custom resource that is the generation, so that a change of status never fails a write. A weak tag never
 * matches (RFC 9110 section 13.1.1).
 */
export function requireMatch(ifMatch: string | undefined, tag: string): void {
  if (ifMatch === undefined) return;
  const matches = parseTags(ifMatch).some(
    (candidate) =>
      candidate === "*" || (!candidate.startsWith("W/") && settingsPart(candidate) === settingsPart(tag)),
  );
  if (!matches) {
    throw new ApiError("precondition_failed", "The record has changed since it was read; read it again.", {
      headers: { ETag: tag },
    });
  }
}

function parseTags(header: string): string[] {
  return header.split(",").map((tag) => tag.trim());
}

function settingsPart(tag: string): string {
  return tag.replace(/^"|"$/g, "").split("-", 1)[0] ?? "";
}
