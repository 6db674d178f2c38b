import type { ApiTokenRow } from "./table.ts";

/** The entity tag of a token. Its use shows in the second part, which no If-Match compares. */
export function tagOf(row: Pick<ApiTokenRow, "version" | "lastUsedAt">): string {
  return `"${row.version}-${row.lastUsedAt?.getTime() ?? 0}"`;
}
