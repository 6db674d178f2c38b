import { isDeepStrictEqual } from "node:util";
import { z } from "@hono/zod-openapi";
import { MAX_AUTHORIZED_CIDRS, MAX_CIDR_LENGTH, maskCidr } from "../../shared/crd/cidr.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_AUTHORIZED_CIDRS } from "../../shared/crd/names.ts";
import { truncateText } from "../../shared/program/wording.ts";

/**
 * `authorized_cidrs` in a body: every record shows it as it was sent. An entry that is no block in CIDR
 * notation is `invalid_cidr`, and the message names it.
 */
export const authorizedCidrs = z
  .array(z.string().openapi({ maxLength: MAX_CIDR_LENGTH, example: "203.0.113.0/24" }))
  .max(MAX_AUTHORIZED_CIDRS, {
    error: `must have at most ${MAX_AUTHORIZED_CIDRS} entries, for each is a rule of what stands in front of the endpoint`,
  })
  .superRefine((blocks, context) => {
    const wrong = blocks.find((block) => block.length > MAX_CIDR_LENGTH || maskCidr(block) === undefined);
    if (wrong === undefined) return;
    const message = `must hold blocks in CIDR notation, as 203.0.113.7/32; ${quote(wrong)} is none`;
    context.addIssue({ code: "custom", message, params: { code: "invalid_cidr" } });
  })
  .openapi({
    description:
      "Blocks in CIDR notation from which the public endpoint may be reached. A block with host bits means the block that it lies in, and a repeated one counts once. Empty: any source. At most 256, for each is a rule of what stands in front of the endpoint, where rules are few; a plan may take fewer (`max_authorized_cidrs` in `GET /plans`). The cluster's own workers and the platform are always allowed.",
    "x-kubernetes-list-type": "atomic",
  });

const sentCidrs = z
  .string()
  .transform((text, context) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      context.addIssue({ code: "custom", message: "must be JSON" });
      return z.NEVER;
    }
  })
  .pipe(z.array(z.string().max(MAX_CIDR_LENGTH)).max(MAX_AUTHORIZED_CIDRS));

/** The blocks that are applied: masked, each once, in the order of their first mention. `sent` holds blocks alone. */
export function maskCidrs(sent: readonly string[]): string[] {
  return [...new Set(sent.map((block) => maskCidr(block) ?? block))];
}

/** The annotation that keeps the blocks as they were sent. */
export function annotateSentCidrs(sent: readonly string[]): Record<string, string> {
  return { [ANNOTATION_AUTHORIZED_CIDRS]: JSON.stringify(sent) };
}

/** The blocks as REST was sent them; as `spec` holds them when something else has changed them since. */
export function findSentCidrs({ metadata, spec }: Pick<Cluster, "metadata" | "spec">): string[] {
  const applied = spec.network?.authorizedCIDRs ?? [];
  const sent = sentCidrs.safeParse(metadata.annotations?.[ANNOTATION_AUTHORIZED_CIDRS]);
  return sent.success && isDeepStrictEqual(maskCidrs(sent.data), applied) ? sent.data : applied;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${truncateText(text, 60)}...` : text);
}
