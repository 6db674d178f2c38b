import type { SideBySide } from "./side-by-side.ts";

const ASKED = 3000;

/** p99 of the first and of the last page of 50, read alternately by one client, so that noise affects both. */
export async function measurePages({ api, headers }: Pick<SideBySide, "api" | "headers">, path: string) {
  const read = async (cursor: string | undefined) => {
    const query = cursor === undefined ? "" : `&cursor=${cursor}`;
    const startedAt = performance.now();
    const { body } = await api.request({ method: "GET", path: `${path}?limit=50${query}`, headers });
    const page = (await body.json()) as { next_cursor: string | null };
    return { ms: performance.now() - startedAt, next: page.next_cursor };
  };
  let lastCursor: string | undefined;
  for (let { next } = await read(undefined); next !== null; { next } = await read(next)) lastCursor = next;
  const times: [number[], number[]] = [[], []];
  for (let n = 0; n < ASKED; n++) {
    times[0].push((await read(undefined)).ms);
    times[1].push((await read(lastCursor)).ms);
  }
  const [first = 0, last = 0] = times.map((all) => all.toSorted((a, b) => a - b)[Math.floor(ASKED * 0.99)]);
  return { first, last, ratio: Math.max(first, last) / Math.min(first, last) };
}
