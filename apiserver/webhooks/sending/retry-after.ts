/** The three forms of a date in HTTP (RFC 9110 section 5.6.7): IMF-fixdate, RFC 850 and asctime. */
const IMF_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * The delay that a Retry-After header asks for (RFC 9110 section 10.2.3), in milliseconds from `now`, never negative
 * and without an upper bound; 0 for a date that has passed. Undefined when there is none and for text of any other
 * form.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1000;
  const time = parseDate(text);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now.getTime());
}

function parseDate(text: string): number {
  if (IMF_DATE.test(text) || RFC850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
