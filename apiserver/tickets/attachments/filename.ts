import type { Rule } from "../../../shared/crd/rule.ts";

/** The most characters of a name: what file systems take. */
export const MAX_FILENAME_LENGTH = 255;

const SEPARATORS = /[/\\]/;
/**
 * Control characters, line separators, and invisible ones such as those that change the direction of text (UAX #9). The
 * joiners U+200C and U+200D belong to words of many languages and to emoji.
 */
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const BLANK = /^[\s.\u200c\u200d]+$/;

/** Whether it is a file name without folders and without characters that are invisible or change the text direction. */
export function isPlainFilename(name: string): boolean {
  return !SEPARATORS.test(name) && !HIDDEN.test(name) && !BLANK.test(name);
}

export const filenameRule: Omit<Rule<string>, "cel"> = {
  field: "",
  code: "invalid_format",
  message:
    "must be the name of a file alone, without folders, control characters and marks of text direction",
  holds: isPlainFilename,
};
