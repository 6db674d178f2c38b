import type { MeteredType } from "../usage/interval.ts";
import { type RatedLine, sumCents } from "./lines.ts";

/** What lines amount to by resource type, in cents. */
export function sumByType(lines: readonly RatedLine[]): [MeteredType, bigint][] {
  const types = Map.groupBy(lines, ({ resourceType }) => resourceType);
  return [...types].map(([type, own]) => [type, sumCents(own)]);
}
