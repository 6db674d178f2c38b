import { create } from "content-disposition";
import type { Context } from "hono";
import { accepts } from "hono/accepts";

export const JSON_TYPE = "application/json";

/**
 * The form of a response to send: of the media types that an operation offers, the one that the client's Accept ranks
 * first (RFC 9110, 12.5.1), and of equal ones the one it names first. The first one offered where it names none of them.
 */
export function acceptedType<MediaType extends string>(
  c: Context,
  offered: readonly [MediaType, ...MediaType[]],
): MediaType {
  const accepted = accepts(c, { header: "Accept", supports: [...offered], default: offered[0] });
  return offered.find((type) => type === accepted) ?? offered[0];
}

/**
 * What some file system or shell does not take in a file's name: all but letters with the joiners between them, digits,
 * `.`, `_` and `-`.
 */
const UNFIT = /(?:(?!(?<=[\p{L}\p{M}])[\u200c\u200d](?=\p{L}))[^\p{L}\p{M}\p{N}._-])+/gu;

/**
 * Content-Disposition of a file that is named after a record: `record` and `suffix`, with a hyphen for whatever does not
 * belong in a file's name, and no dot at its beginning (RFC 6266 section 4.3).
 */
export function attachment(record: string, suffix: string): string {
  const stem = record
    .normalize("NFC")
    .replaceAll(UNFIT, "-")
    .replace(/^[.-]+|[.-]+$/g, "");
  return create(stem === "" ? suffix : `${stem}-${suffix}`);
}
