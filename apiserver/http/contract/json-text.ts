import { describeJsonFault } from "../../../shared/program/json-fault.ts";
import { truncateText } from "../../../shared/program/wording.ts";
import { ApiError, invalidField } from "../errors.ts";

/** No body of this API is deeper than 6; recursion over untrusted input needs a bound. */
const MAX_DEPTH = 32;
/** A cluster with 50 pools, each with every label and taint, has 10,300; the work of validation grows with them. */
const MAX_VALUES = 12_000;
/** No object of this API has more than 64 fields or labels. */
const MAX_FIELDS = 128;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COLON = 0x3a;

/**
 * Parses JSON that every parser reads alike. Throws 400 for text that is no JSON, with line and column, is nested
 * deeper than 32, or has a duplicate key in an object: of those, parsers keep the first, the last or neither (RFC 8259
 * section 4). Throws 422 above 12,000 values or 128 fields in one object, both before anything is parsed.
 */
export function parseJson(text: string): unknown {
  requireStructure(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("bad_request", `The body is ${describeJsonFault(text)}.`);
  }
}

/** One pass over any text. What is no JSON may pass: then the parser refuses it. */
function requireStructure(text: string): void {
  // The keys of each open object; undefined for an open array.
  const open: (Set<string> | undefined)[] = [];
  let values = 1;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (open.length === MAX_DEPTH) {
          throw new ApiError("bad_request", `The body must not be nested deeper than ${MAX_DEPTH}.`);
        }
        open.push(text.charCodeAt(index) === OPEN_OBJECT ? new Set() : undefined);
        values++;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop();
        break;
      case COMMA:
        values++;
        break;
      case QUOTE: {
        const end = endOfString(text, index);
        if (isKey(text, end)) rememberKey(open.at(-1), text.slice(index, end));
        index = end - 1;
        break;
      }
    }
    if (values > MAX_VALUES) throw tooMany(`must have at most ${MAX_VALUES} values`);
  }
}

function rememberKey(keys: Set<string> | undefined, quoted: string): void {
  if (keys === undefined) return;
  const key = quoted.includes("\\") ? unquote(quoted) : quoted.slice(1, -1);
  if (keys.has(key)) {
    throw new ApiError(
      "bad_request",
      `The body has the key ${JSON.stringify(truncateText(key, 64))} twice in one object.`,
    );
  }
  keys.add(key);
  if (keys.size > MAX_FIELDS) throw tooMany(`must have at most ${MAX_FIELDS} fields in one object`);
}

function tooMany(message: string): ApiError {
  return invalidField("body", "too_many", message);
}

/** A key that is no JSON stays as it is: the parser refuses it. */
function unquote(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
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
