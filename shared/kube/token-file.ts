import { readFile } from "node:fs/promises";

/** A projected ServiceAccount token is renewed at 80 % of an hour or more; client-go re-reads it every minute too. */
const CACHE_MS = 60_000;

/** A bearer token kept in a file that somebody else renews: read when asked, at most once a minute or on `refresh`. */
export function createTokenFile(file: string): (refresh?: boolean) => Promise<string> {
  let reading: Promise<string> | undefined;
  let readAt = 0;
  return (refresh = false) => {
    if (reading === undefined || refresh || performance.now() - readAt > CACHE_MS) {
      readAt = performance.now();
      reading = readFile(file, "utf8").then((text) => text.trim());
      // A failed read is not kept: the next call reads again.
      reading.catch(() => {
        reading = undefined;
      });
    }
    return reading;
  };
}
