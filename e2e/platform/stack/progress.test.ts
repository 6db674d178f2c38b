import { expect, onTestFinished, test, vi } from "vitest";
import { createProgress, formatElapsed, reportWhile, silentProgress } from "./progress.ts";

/** Its clock stands still, so that no pause of this process is shown. */
function record(isTTY: boolean) {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const written: string[] = [];
  const write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  return { written, progress: createProgress({ write, isTTY } as never) };
}

test.each([
  [0, "0s"],
  [59_400, "59s"],
  [65_000, "1m 05s"],
])("%i ms are %s", (ms, text) => expect(formatElapsed(ms)).toBe(text));

test("on a terminal the line of long work stays the last one while others are printed", async () => {
  const { written, progress } = record(true);
  const work = Promise.withResolvers<void>();
  const during = progress.during("building etcd", work.promise);
  progress.line("postgres (2.6 s)");
  work.resolve();
  await during;
  expect(written[1]?.endsWith(" postgres (2.6 s)\n         building etcd  0s")).toBe(true);
  expect(written.at(-1)).toMatch(/^ +\d+\.\ds {2}building etcd: done in 0s\n$/);
});

test("in a file every line is whole", async () => {
  const { written, progress } = record(false);
  await progress.during("building etcd", Promise.resolve());
  for (const line of written) expect(line).toMatch(/^ +\d+\.\ds {2}building etcd.*\n$/);
});

test("long work is reported again and again until it ends, and its result is returned", async () => {
  const lines: string[] = [];
  const third = Promise.withResolvers<string>();
  const line = (text: string): void => {
    if (lines.push(text) === 3) third.resolve("done");
  };
  const work = reportWhile({ ...silentProgress, line }, () => `waiting ${lines.length}`, third.promise, 1);
  expect(await work).toBe("done");
  expect(lines).toEqual(["waiting 0", "waiting 1", "waiting 2"]);
  await expect(reportWhile(silentProgress, () => "", Promise.reject(new Error("refused")))).rejects.toThrow(
    "refused",
  );
});
