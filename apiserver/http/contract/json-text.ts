import { ApiError } from "../errors.ts";

/** No body of this API is deeper than 6; recursion over untrusted input needs a bound. */
const MAX_DEPTH = 32;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COLON = 0x3a;

/**
 * Parses JSON that every parser reads alike. Throws 400 for text that is no JSON, is nested deeper than 32, or has a
 * duplicate key in an object: of those, parsers keep the first, the last or neither (RFC 8259 section 4).
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError("bad_request", "The body is not valid JSON.");
  }
  checkStructure(text);
  return value;
}

/** One pass over text that is known to be valid JSON. */
function checkStructure(text: string): void {
  // The keys of each open object; undefined for an open array.
  const open: (Set<string> | undefined)[] = [];
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (open.length === MAX_DEPTH) {
          throw new ApiError("bad_request", `The body must not be nested deeper than ${MAX_DEPTH}.`);
        }
        open.push(text.charCodeAt(index) === OPEN_OBJECT ? new Set() : undefined);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop();
        break;
      case QUOTE: {
        const end = endOfString(text, index);
        if (isKey(text, end)) rememberKey(open.at(-1), text.slice(index, end));
        index = end - 1;
        break;
      }
    }
  }
}

function rememberKey(keys: Set<string> | undefined, quoted: string): void {
  const key = quoted.includes("\\") ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
  if (keys?.has(key) === true) {
    throw new ApiError(
      "bad_request",
      `The body has the key ${JSON.stringify(key.slice(0, 64))} twice in one object.`,
    );
  }
  keys?.add(key);
}

/** The index behind the closing quote. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index++;
    else if (code === QUOTE) return index + 1;
  }
  return text.length;
}

function isKey(text: string, end: number): boolean {
  let index = end;
  while (text.charCodeAt(index) <= 0x20) index++;
  return text.charCodeAt(index) === COLON;
}
