import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { waitForRegistry } from "../../../e2e/platform/stack/testing.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { BackendError, type RegistryBackend } from "../backend/backend.ts";
import { createDistribution } from "../backend/distribution.ts";
import { repositoryPrefix } from "../names.ts";
import { pushTestImage, testRegistry } from "../testing.ts";
import { PRIORITIES, requestMissingScans } from "./store.ts";
import { sweepRegistry } from "./sweep.ts";
import { registryScans } from "./table.ts";

const HOUR_MS = 3_600_000;
let api: TestApp;
let backend: RegistryBackend;
let orgId: string;

beforeAll(async () => {
  await waitForRegistry();
  api = await startTestApp({ registry: {} });
  backend = createDistribution(registry(), api.deps.now);
});
beforeEach(async () => {
  orgId = await api.createOrganization();
});
afterAll(() => api.close());

const registry = () => testRegistry(api);

const push = async (repository: string, tag: string, version: string, owner = orgId) =>
  (await pushTestImage(registry(), { orgId: owner, repository, tag }, { zlib: version })).digest;

/** A sweep two hours from now: results of images that are not in use are no longer kept. */
const sweep = (through = backend, signal = new AbortController().signal) =>
  sweepRegistry(
    {
      db: api.deps.db,
      log: createLogger({ name: "test", level: "silent" }),
      now: () => new Date(Date.now() + 2 * HOUR_MS),
    },
    through,
    signal,
  );

const listScans = (owner = orgId) =>
  api.deps.db
    .select()
    .from(registryScans)
    .where(eq(registryScans.orgId, owner))
    .orderBy(registryScans.digest);

const endScans = (owner = orgId) =>
  api.deps.db
    .update(registryScans)
    .set({ state: "unsupported", dueAt: null, usedAt: new Date() })
    .where(eq(registryScans.orgId, owner));

describe("a sweep", () => {
  test("requests the scan of each tagged image that has none, and of no other", async () => {
    const first = await push("web", "1", "1");
    await sweep();
    expect(await listScans()).toMatchObject([
      { digest: first, repository: "web", state: "pending", priority: 2 },
    ]);
    await endScans();
    const second = await push("deep/name", "1", "2");
    await sweep();
    const states = new Map((await listScans()).map(({ digest, state }) => [digest, state]));
    expect(states).toEqual(
      new Map([
        [first, "unsupported"],
        [second, "pending"],
      ]),
    );
  });

  test("deletes the results of images whose last tag is gone, and keeps those of the others", async () => {
    const [gone, kept] = [await push("web", "1", "3"), await push("web", "2", "4")];
    await push("copy", "2", "4");
    await sweep();
    await endScans();
    await backend.deleteTag(`${repositoryPrefix(orgId)}web`, "1");
    await backend.deleteTag(`${repositoryPrefix(orgId)}web`, "2");
    await sweep();
    const digests = (await listScans()).map(({ digest }) => digest);
    expect(digests).toContain(kept);
    expect(digests).not.toContain(gone);
  });

  test("deletes the results of an organization that is not in the registry", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    await requestMissingScans(api.deps.db, orgId, [
      { digest, repository: "web", priority: PRIORITIES.pushed, at: new Date() },
    ]);
    await endScans();
    await sweep();
    expect(await listScans()).toEqual([]);
  });

  test.each(["failed", "timeout"] as const)(
    "goes on with the other organizations when the registry cannot read one, or list all: %s",
    async (fault) => {
      const broken = orgId;
      const other = await api.createOrganization();
      await push("web", "1", "6", broken);
      await push("web", "1", "7", other);
      await sweep();
      await endScans(broken);
      await api.deps.db.delete(registryScans).where(eq(registryScans.orgId, other));
      await sweep({
        ...backend,
        listTags: (repository, page) =>
          repository.startsWith(repositoryPrefix(broken))
            ? Promise.reject(new BackendError(fault, "the tags are not listed"))
            : backend.listTags(repository, page),
      });
      expect(await listScans(broken)).toHaveLength(1);
      expect(await listScans(other)).toHaveLength(1);
      await api.deps.db.delete(registryScans).where(eq(registryScans.orgId, other));
      const listRepositories: RegistryBackend["listRepositories"] = (prefix, page) =>
        prefix === "org-"
          ? Promise.reject(new BackendError(fault, "the repositories are not listed"))
          : backend.listRepositories(prefix, page);
      const unlisted = sweep({ ...backend, endingWith: () => ({ ...backend, listRepositories }) });
      await expect(unlisted).rejects.toMatchObject({ fault });
      expect(await listScans(other)).toHaveLength(1);
    },
  );

  test("fails with the error of a registry that cannot be reached or does not list its repositories in time, and deletes nothing", async () => {
    await push("web", "1", "8");
    await sweep();
    await endScans();
    const unreachable = new BackendError("unreachable", "connection refused");
    await expect(sweep({ ...backend, listTags: () => Promise.reject(unreachable) })).rejects.toBe(
      unreachable,
    );
    const unlisted = { ...backend, listRepositories: () => Promise.reject(unreachable) };
    await expect(sweep({ ...backend, endingWith: () => unlisted })).rejects.toBe(unreachable);
    const late = { name: "BackendError", fault: "timeout" };
    await expect(sweep(backend, AbortSignal.abort())).rejects.toMatchObject(late);
    expect(await listScans()).toHaveLength(1);
  });
});
