import type { Context } from "hono";
import { ApiError } from "../errors.ts";
import { TAG_PATTERN } from "./operation.ts";

/** The entity tag of a Postgres record with a version column: `"3"`. */
export function versionTag(version: number): string {
  return `"${version}"`;
}

/** The entity tag of a custom resource: `"<generation>-<resourceVersion>"`. */
export function objectTag(metadata: { generation?: number; resourceVersion?: string }): string {
  return `"${metadata.generation ?? 0}-${metadata.resourceVersion ?? ""}"`;
}

/** Whether If-None-Match names this tag (weak comparison, RFC 9110 section 13.1.2): a read is 304, a write 412. */
export function isNotModified(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return parseTags(ifNoneMatch).some(
    (candidate) => candidate === "*" || candidate.replace(/^W\//, "") === tag,
  );
}

/** The third part of a cluster's tag, `-upgrade` (`clusterTag` in clusters/present.ts): no If-Match compares it. */
const DERIVED_PART = /("\d+-\d+)-[a-z]+"/g;

/** The conditions under which a request is to write: If-Match and If-None-Match (RFC 9110 section 13.1). */
export interface Preconditions {
  ifMatch?: string | undefined;
  ifNoneMatch?: string | undefined;
}

export function readPreconditions(c: Context): Preconditions {
  return { ifMatch: c.req.header("if-match"), ifNoneMatch: c.req.header("if-none-match") };
}

/**
 * Refuses with 412 when If-Match names another version than `tag` (undefined: there is no such record yet), or If-None-Match
 * this one or any (`*`). Only the part of If-Match before the first `-` counts, of a custom resource the generation: a change
 * of status fails no write. A weak tag never matches (section 13.1.1).
 */
export function requireMatch(preconditions: Preconditions | undefined, tag: string | undefined): void {
  const { ifMatch, ifNoneMatch } = preconditions ?? {};
  if (tag === undefined) {
    if (ifMatch !== undefined) throw new ApiError("precondition_failed", "There is no such record yet.");
    return;
  }
  if (isNotModified(ifNoneMatch?.replaceAll(DERIVED_PART, '$1"'), tag)) {
    const message = "The record exists in a version that If-None-Match excludes.";
    throw new ApiError("precondition_failed", message, { headers: { ETag: tag } });
  }
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

const TAGS = new RegExp(TAG_PATTERN, "g");

function parseTags(header: string): string[] {
  return header.trim() === "*" ? ["*"] : (header.match(TAGS) ?? []);
}

function settingsPart(tag: string): string {
  return tag.replace(/^"|"$/g, "").split("-", 1)[0] ?? "";
}
