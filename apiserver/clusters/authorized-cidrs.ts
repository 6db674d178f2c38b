import { z } from "@hono/zod-openapi";
import { hasNoHostBits, isCidr, MAX_AUTHORIZED_CIDRS, MAX_CIDR_LENGTH } from "../../shared/crd/cidr.ts";

/**
 * `authorized_cidrs` in a body (spec 2.7), stored exactly as sent. An entry that is no block in CIDR notation is
 * `invalid_cidr`, and the message names it.
 */
export const authorizedCidrs = z
  .array(z.string().openapi({ maxLength: MAX_CIDR_LENGTH, example: "203.0.113.0/24" }))
  .max(MAX_AUTHORIZED_CIDRS)
  .superRefine((blocks, context) => {
    const add = (code: string, message: string) =>
      context.addIssue({ code: "custom", message, params: { code } });
    const wrong = blocks.find((block) => !isCidr(block) || !hasNoHostBits(block));
    if (wrong !== undefined) add("invalid_cidr", describeWrong(wrong));
    const twice = blocks.find((block, index) => blocks.indexOf(block) !== index);
    if (twice !== undefined) add("duplicate", `must not list ${quote(twice)} twice`);
  })
  .openapi({
    description:
      "Blocks in CIDR notation from which the public endpoint may be reached. Empty: any source. The cluster's own workers and the platform are always allowed.",
    "x-kubernetes-list-type": "atomic",
  });

function describeWrong(block: string): string {
  if (!isCidr(block))
    return `must hold blocks in CIDR notation, as in 203.0.113.7/32; ${quote(block)} is none`;
  return `must hold first addresses of blocks, as in 10.0.0.0/8; ${quote(block)} has bits beyond its prefix`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}
