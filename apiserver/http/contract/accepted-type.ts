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
