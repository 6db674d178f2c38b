import { create } from "content-disposition";

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
