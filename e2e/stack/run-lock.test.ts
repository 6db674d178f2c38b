import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { releaseLock, takeLock } from "./run-lock.ts";

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
