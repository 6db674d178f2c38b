import type { NamesRequest } from "./backend.ts";

/** Names of one request to the registry. */
const BATCH = 500;

/** Every name of a list that the registry gives in pages. */
export async function* listAllNames(list: (page: NamesRequest) => Promise<string[]>): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const names = await list({ after, limit: BATCH });
    yield* names;
    if (names.length < BATCH) return;
    after = names.at(-1);
  }
}
