/** Where a text stops being JSON, counted from 1 (a column is one character), and what belongs there. */
interface JsonFault {
  line: number;
  column: number;
  wanted: string;
}

const SPACE = /[ \t\n\r]*/y;
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
/** A string without its closing quote, as far as it is one. */
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*/y;

const VALUE = "a value";
const KEY = "a field name in double quotes";
type Place = "value" | "value or end" | "key" | "key or end" | "colon" | "comma or end" | "end of text";

/** The sentence on a text that JSON.parse has refused: "not valid JSON: line 2, column 9 should have a value". */
export function describeJsonFault(text: string): string {
  const { line, column, wanted } = findJsonFault(text);
  return `not valid JSON: line ${line}, column ${column} should have ${wanted}`;
}

/** The first fault of a text that is no JSON (RFC 8259), in one pass and without recursion. */
function findJsonFault(text: string): JsonFault {
  const open: ("{" | "[")[] = [];
  let place: Place = "value";
  let index = 0;
  const afterValue = (): Place => (open.length === 0 ? "end of text" : "comma or end");
  while (true) {
    index = endOfMatch(SPACE, text, index) ?? index;
    const sign = text[index] ?? "";
    const close = open.at(-1) === "{" ? "}" : "]";
    if (sign === close && place.endsWith("or end")) {
      open.pop();
      place = afterValue();
      index++;
    } else if (sign === "," && place === "comma or end") {
      place = close === "}" ? "key" : "value";
      index++;
    } else if (sign === ":" && place === "colon") {
      place = "value";
      index++;
    } else if (place.startsWith("value") && (sign === "{" || sign === "[")) {
      open.push(sign);
      place = sign === "{" ? "key or end" : "value or end";
      index++;
    } else if (sign === '"' && /^(value|key)/.test(place)) {
      index = endOfMatch(STRING, text, index) ?? index;
      if (text[index] !== '"') return locate(text, index, wantedInString(text, index));
      place = place.startsWith("key") ? "colon" : afterValue();
      index++;
    } else {
      const end = place.startsWith("value") ? endOfMatch(WORD, text, index) : undefined;
      if (end === undefined) return locate(text, index, wantedAt(place, close));
      place = afterValue();
      index = end;
    }
  }
}

function endOfMatch(pattern: RegExp, text: string, start: number): number | undefined {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function wantedAt(place: Place, close: string): string {
  switch (place) {
    case "value":
      return VALUE;
    case "value or end":
      return `${VALUE} or ${close}`;
    case "key":
      return KEY;
    case "key or end":
      return `${KEY} or ${close}`;
    case "colon":
      return "a colon";
    case "comma or end":
      return `a comma or ${close}`;
    case "end of text":
      return "nothing more";
  }
}

function wantedInString(text: string, index: number): string {
  if (index >= text.length) return "a closing quote";
  return text[index] === "\\" ? "a valid escape" : "a closing quote, or an escape for the control character";
}

function locate(text: string, index: number, wanted: string): JsonFault {
  const before = text.slice(0, index);
  const start = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: Array.from(before.slice(start)).length + 1, wanted };
}
