import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { doLocked, releaseLock, takeLock } from "./run-lock.ts";

let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "marina-lock-"));
  file = join(dir, "lock");
});

afterEach(() => rmSync(dir, { recursive: true }));

test("a held lock names its holder and purpose", () => {
  expect(takeLock(file, { apiUrl: "http://127.0.0.1:8080" })).toBeUndefined();
  expect(takeLock(file, { apiUrl: "other" })).toMatchObject({
    pid: process.pid,
    apiUrl: "http://127.0.0.1:8080",
  });
});

test("a released lock can be taken", () => {
  takeLock(file, {});
  releaseLock(file);
  expect(takeLock(file, {})).toBeUndefined();
});

test.each([
  ["by a process that has ended", JSON.stringify({ pid: 2 ** 22 + 1, startTime: "x" })],
  ["by a pid that now is another process", JSON.stringify({ pid: process.pid, startTime: "before" })],
  ["by no one: the file is truncated", '{"pid":'],
])("a lock held %s is taken over", (_what, text) => {
  writeFileSync(file, text);
  expect(takeLock(file, {})).toBeUndefined();
});

test("work under a lock begins when the work before it has ended, also when that failed", async () => {
  const done: string[] = [];
  const first = doLocked(file, async () => {
    await Promise.resolve();
    done.push("first");
    throw new Error("it failed");
  });
  const onWait = vi.fn<() => void>();
  const second = doLocked(file, async () => done.push("second"), { onWait });
  await expect(first).rejects.toThrow("it failed");
  await second;
  expect(done).toEqual(["first", "second"]);
  expect(onWait).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ pid: process.pid }));
  expect(takeLock(file, {})).toBeUndefined();
});

test("a wait for a lock ends when it is stopped", async () => {
  takeLock(file, {});
  const stop = new AbortController();
  const waiting = doLocked(file, async () => undefined, { signal: stop.signal });
  stop.abort();
  await expect(waiting).rejects.toThrow("stopped");
});
