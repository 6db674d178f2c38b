import { beforeAll } from "vitest";

/**
 * Starts or makes something before the tests of a file or of a `describe`, and closes what can be closed after them and after their
 * hooks. Returns what has all its members once it is started: tests, hooks and their helpers use it, and what runs while the file is
 * read cannot.
 */
export function setUp<T extends object & { close?: () => Promise<void> | void }>(start: () => Promise<T>): T {
  const started = {} as T;
  beforeAll(async () => {
    Object.assign(started, await start());
    return () => started.close?.();
  });
  return started;
}
