import { create } from "content-disposition";
import type { Context } from "hono";
import { accepts } from "hono/accepts";
import { ApiError } from "../errors.ts";

export const JSON_TYPE = "application/json";

/** A longer Accept or Accept-Encoding is not read: one of 16 KiB takes the processor for 6 ms. */
export const MAX_ACCEPT_LENGTH = 1024;

/** What stands in the name of a form between its media type and its profile (RFC 6906). */
const PROFILE = ";profile=";
const ANY = "*/*";
const RANGE = /\/\*$/;
/** No form has this name. */
const NONE = "";

/** A form that an operation offers in general, and the sentence that says why it is not there now. */
interface MissingForm<Form> {
  form: Form;
  why: string;
}

/** What the client accepts: the name of a form, or a range of media types. */
interface Accepted {
  name: string;
  q: number;
}

/**
 * The form of a response to send: of the forms that an operation offers, the one that the client's Accept ranks first
 * (RFC 9110, 12.5.1), and of equal ones the one it names first. The first one offered where it names none of them. A
 * form is a media type, or one with a profile as `text/csv;profile=focus-1.0`; other parameters are of no importance.
 * Throws 406 where Accept names another profile of an offered media type, or the `missing` form, and nothing that is
 * offered.
 */
export function acceptedType<Form extends string>(
  c: Context,
  forms: readonly [Form, ...Form[]],
  missing?: MissingForm<NoInfer<Form>>,
): Form {
  const offered = forms.filter((form) => form !== missing?.form);
  if ((c.req.header("accept") ?? "").length > MAX_ACCEPT_LENGTH) return offered[0] ?? forms[0];
  let all: Accepted[] = [];
  const found = accepts(c, {
    header: "Accept",
    supports: offered,
    default: NONE,
    match: (accepted) => {
      all = accepted.map(({ type, params, q }) => ({ name: nameForm(type, params, forms), q }));
      return findFirst(all, offered) ?? NONE;
    },
  });
  const wanted = all.filter(({ q }) => q > 0).map(({ name }) => name);
  if (
    found === NONE &&
    wanted.some((name) => name.includes(PROFILE) || name === missing?.form) &&
    !wanted.includes(ANY)
  ) {
    const why = missing?.why ?? "Accept names a profile that is not offered.";
    throw new ApiError("not_acceptable", `${why} Offered: ${offered.join(", ")}.`);
  }
  return offered.find((form) => form === found) ?? forms[0];
}

/** Names of types and parameters are case-insensitive. A media type without profiles here is named without one. */
function nameForm(type: string, params: Record<string, string>, offered: readonly string[]): string {
  const mediaType = type.toLowerCase();
  const key = Object.keys(params).find((one) => one.toLowerCase() === "profile");
  const isProfiled = offered.some((form) => form.startsWith(mediaType + PROFILE));
  return key === undefined || !isProfiled ? mediaType : mediaType + PROFILE + params[key];
}

function findFirst(all: readonly Accepted[], offered: readonly string[]): string | undefined {
  const named = new Set(all.map(({ name }) => name));
  const ranked = all
    .filter(({ q }) => q > 0)
    .toSorted((a, b) => b.q - a.q || Number(RANGE.test(a.name)) - Number(RANGE.test(b.name)));
  for (const { name } of ranked) {
    const range = name.slice(0, -1);
    const form = RANGE.test(name)
      ? offered.find((one) => one.startsWith(range) && !one.includes(PROFILE) && !named.has(one))
      : offered.find((one) => one === name);
    if (form !== undefined) return form;
  }
  return undefined;
}

/**
 * What some file system or shell does not take in a file's name: all but letters with the joiners between them, digits,
 * `.`, `_` and `-`.
 */
const UNFIT = /(?:(?!(?<=[\p{L}\p{M}])[\u200c\u200d](?=\p{L}))[^\p{L}\p{M}\p{N}._-])+/gu;

/**
 * Content-Disposition of a file that is named after a record: `record` and `suffix`, with a hyphen for whatever does
 * not belong in a file's name, and no dot at its beginning (RFC 6266 section 4.3).
 */
export function attachment(record: string, suffix: string): string {
  const stem = record
    .normalize("NFC")
    .replaceAll(UNFIT, "-")
    .replace(/^[.-]+|[.-]+$/g, "");
  return create(stem === "" ? suffix : `${stem}-${suffix}`);
}
