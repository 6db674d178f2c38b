import { link, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDirectoryDriver } from "./directory.ts";
import { StorageError } from "./driver.ts";
import { NAMESPACE, ORG_ID } from "./testing.ts";

const MEBIBYTE = Buffer.alloc(2 ** 20, 7);
const { signal } = new AbortController();
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "storage-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const driver = () => createDirectoryDriver(root);
const failureOf = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

describe("a storage of folders", () => {
  test("makes a folder with its limit, once", async () => {
    expect(await driver().readPool(ORG_ID, signal)).toBeUndefined();
    for (const _ of [1, 2]) await driver().ensurePool(ORG_ID, 7, signal);
    const pool = { orgId: ORG_ID, quotaBytes: 7, usedBytes: 0 };
    expect(await driver().readPool(ORG_ID, signal)).toEqual(pool);
    expect(await driver().listPools(signal)).toEqual([pool]);
  });

  test("counts what files occupy, each once, in folders below too, and not what a link points to", async () => {
    await driver().ensurePool(ORG_ID, 7, signal);
    const folder = join(root, NAMESPACE, "below");
    await mkdir(folder);
    await writeFile(join(folder, "file"), MEBIBYTE);
    await link(join(folder, "file"), join(folder, "same"));
    const outside = join(root, "outside");
    await writeFile(outside, MEBIBYTE);
    await symlink(outside, join(folder, "link"));
    const pool = await driver().readPool(ORG_ID, signal);
    expect(pool?.usedBytes).toBeGreaterThanOrEqual(MEBIBYTE.length);
    expect(pool?.usedBytes).toBeLessThan(MEBIBYTE.length * 1.5);
  });

  test("changes a limit, also below what is stored", async () => {
    await driver().ensurePool(ORG_ID, 7, signal);
    await writeFile(join(root, NAMESPACE, "file"), MEBIBYTE);
    await driver().setQuota(ORG_ID, 5, signal);
    expect((await driver().readPool(ORG_ID, signal))?.quotaBytes).toBe(5);
  });

  test.each([0, -1, 0.5, Number.NaN])("never sets a limit of %d, and leaves the last one", async (bytes) => {
    await driver().ensurePool(ORG_ID, 7, signal);
    await expect(driver().setQuota(ORG_ID, bytes, signal)).rejects.toThrow(RangeError);
    expect((await driver().readPool(ORG_ID, signal))?.quotaBytes).toBe(7);
  });

  test("lists no folder that is not an organization's", async () => {
    for (const name of ["limits", "org-x", "lost+found"]) await mkdir(join(root, name));
    await writeFile(join(root, NAMESPACE), "a file");
    expect(await driver().listPools(signal)).toEqual([]);
  });

  test("reports no limit where none can be read, so that it is written again", async () => {
    await driver().ensurePool(ORG_ID, 7, signal);
    await writeFile(join(root, "limits", NAMESPACE), "unlimited");
    expect((await driver().readPool(ORG_ID, signal))?.quotaBytes).toBeUndefined();
  });

  test("removes a folder with its files and its limit; a missing one counts as removed", async () => {
    await driver().ensurePool(ORG_ID, 7, signal);
    await writeFile(join(root, NAMESPACE, "file"), "data");
    for (const _ of [1, 2]) await driver().removePool(ORG_ID, signal);
    expect(await readdir(root)).toEqual(["limits"]);
    expect(await readdir(join(root, "limits"))).toEqual([]);
  });

  test("refuses an id that could lead out of its root", async () => {
    const error = await failureOf(driver().removePool("../../etc", signal));
    expect(error).toMatchObject({ name: "StorageError", kind: "rejected" });
  });

  test("is unavailable without its root, which it never makes, and tells no path", async () => {
    await rm(root, { recursive: true });
    const calls = [driver().listPools(signal), driver().ensurePool(ORG_ID, 7, signal)];
    for (const error of await Promise.all(calls.map(failureOf))) {
      expect(error).toBeInstanceOf(StorageError);
      expect(error).toMatchObject({ kind: "unavailable", message: "its folder failed with ENOENT" });
    }
  });

  test("gives up counting when it is aborted", async () => {
    await driver().ensurePool(ORG_ID, 7, signal);
    await writeFile(join(root, NAMESPACE, "file"), "data");
    const error = await failureOf(driver().readPool(ORG_ID, AbortSignal.abort()));
    expect(error).toMatchObject({ kind: "unavailable", message: "its files were not counted in time" });
  });
});
