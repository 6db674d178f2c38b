import { lstat, mkdir, opendir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { requireLimit, type StorageDriver, StorageError, type StoragePool } from "./driver.ts";

/** Deadline of one call: a folder is counted file by file. */
const DEADLINE_MS = 30_000;
const BLOCK_BYTES = 512;
const LIMITS_FOLDER = "limits";
const POOL_NAME = /^org-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const REFUSALS = new Set(["EACCES", "EPERM", "EROFS"]);

/**
 * A storage of folders: `<root>/org-<id>` holds the files of an organization, `<root>/limits/org-<id>` its limit. What
 * the files occupy on disk is what is used. It counts and does not enforce the limit: quotas of the file system do
 * that. The root must exist, so that a volume that is not mounted is a failure and not an empty storage.
 */
export function createDirectoryDriver(root: string): StorageDriver {
  const poolOf = (orgId: string) => join(root, requireName(orgId));
  const limitOf = (orgId: string) => join(root, LIMITS_FOLDER, requireName(orgId));

  async function read(orgId: string, signal: AbortSignal): Promise<StoragePool | undefined> {
    const usedBytes = await countFolder(poolOf(orgId), signal);
    if (usedBytes === undefined) return undefined;
    return { orgId, quotaBytes: await readLimit(limitOf(orgId)), usedBytes };
  }

  async function writeLimit(orgId: string, quotaBytes: number): Promise<void> {
    requireLimit(quotaBytes);
    const file = limitOf(orgId);
    await mkdir(join(root, LIMITS_FOLDER), { recursive: true });
    await writeFile(`${file}.new`, `${quotaBytes}\n`);
    await rename(`${file}.new`, file);
  }

  return {
    listPools: (signal) =>
      withinDeadline(signal, async (deadline) => {
        const pools: StoragePool[] = [];
        for (const entry of await readdir(root, { withFileTypes: true })) {
          const orgId = entry.isDirectory() ? POOL_NAME.exec(entry.name)?.[1] : undefined;
          const pool = orgId === undefined ? undefined : await read(orgId, deadline);
          if (pool !== undefined) pools.push(pool);
        }
        return pools;
      }),
    readPool: (orgId, signal) => withinDeadline(signal, (deadline) => read(orgId, deadline)),
    ensurePool: (orgId, quotaBytes, signal) =>
      withinDeadline(signal, async () => {
        await stat(root);
        await writeLimit(orgId, quotaBytes);
        await mkdir(poolOf(orgId), { recursive: true });
      }),
    setQuota: (orgId, quotaBytes, signal) =>
      withinDeadline(signal, async () => {
        await stat(poolOf(orgId));
        await writeLimit(orgId, quotaBytes);
      }),
    removePool: (orgId, signal) =>
      withinDeadline(signal, async () => {
        await rm(poolOf(orgId), { recursive: true, force: true });
        await rm(limitOf(orgId), { force: true });
      }),
  };
}

function requireName(orgId: string): string {
  const name = `org-${orgId}`;
  if (!POOL_NAME.test(name)) throw new StorageError("rejected", "the id of the organization is no UUID");
  return name;
}

async function withinDeadline<T>(
  signal: AbortSignal,
  run: (deadline: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
  try {
    return await run(deadline);
  } catch (error) {
    if (error instanceof StorageError || error instanceof RangeError) throw error;
    if (deadline.aborted)
      throw new StorageError("unavailable", "its files were not counted in time", { cause: error });
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new StorageError(
      REFUSALS.has(code) ? "rejected" : "unavailable",
      `its folder failed with ${code}`,
      {
        cause: error,
      },
    );
  }
}

/** Undefined without a limit that can be read: then it is written anew. */
async function readLimit(file: string): Promise<number | undefined> {
  try {
    const bytes = Number((await readFile(file, "utf8")).trim());
    return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** What the files below a folder occupy, in bytes, each file once; undefined: there is no such folder. */
async function countFolder(folder: string, deadline: AbortSignal): Promise<number | undefined> {
  const linked = new Set<number>();
  const folders = [folder];
  let bytes = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const path = next;
    const entries = await unlessMissing(opendir(path));
    if (entries === undefined && path === folder) return undefined;
    for await (const entry of entries ?? []) {
      deadline.throwIfAborted();
      if (entry.isDirectory()) folders.push(join(path, entry.name));
      else bytes += await countFile(join(path, entry.name), linked);
    }
  }
  return bytes;
}

async function countFile(file: string, linked: Set<number>): Promise<number> {
  const stats = await unlessMissing(lstat(file));
  if (stats === undefined || linked.has(stats.ino)) return 0;
  if (stats.nlink > 1) linked.add(stats.ino);
  return stats.blocks * BLOCK_BYTES;
}

/** Undefined for what was deleted meanwhile. */
async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}
