import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { waitForRegistry } from "../../../e2e/platform/stack/testing.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { purgeIdempotencyKeys } from "../../http/idempotency/store.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { BackendError } from "../backend/backend.ts";
import { createDistribution } from "../backend/distribution.ts";
import { repositoryPrefix } from "../names.ts";
import { sweepFullOrganizations, sweepRegistry } from "../scans/sweep.ts";
import { pushBlob, pushManifest, pushTestIndex, testRegistry } from "../testing.ts";
import { addPushedBytes } from "./store.ts";

const GIB = 1024 ** 3;
const LIMITS = { sizeGiB: 1, tags: 3 };
const LAYER_BYTES = 4096;

let api: TestApp;
let orgId: string;

beforeAll(async () => {
  await waitForRegistry();
  api = await startTestApp({ registry: { limits: LIMITS } });
});
beforeEach(async () => {
  orgId = await api.createOrganization();
});
afterAll(() => api.close());

const registry = () => testRegistry(api);

const sweepDeps = () => ({
  db: api.deps.db,
  log: createLogger({ name: "test", level: "silent" }),
  now: api.deps.now,
});
const backend = () => createDistribution(registry(), api.deps.now);
const sweep = () => sweepRegistry(sweepDeps(), backend(), new AbortController().signal);
const readUsage = async () =>
  (await api.request("GET", `/api/v1/organizations/${orgId}/registry/usage`)).body;

/** An image of these layers, whose manifest claims that they are empty. Returns it, and the bytes of its manifest. */
async function push(repository: string, tag: string, layers: readonly string[]) {
  const place = { orgId, repository, tag };
  const config = await pushBlob(registry(), place, Buffer.from("{}"));
  const blobs = [];
  for (const layer of layers)
    blobs.push(await pushBlob(registry(), place, Buffer.alloc(LAYER_BYTES, `${orgId}${layer}`)));
  return pushManifest(registry(), place, {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: { ...config, mediaType: "application/vnd.oci.image.config.v1+json" },
    layers: blobs.map(({ digest }) => ({
      digest,
      size: 0,
      mediaType: "application/vnd.oci.image.layer.v1.tar",
    })),
  });
}

describe("what the images of an organization take", () => {
  test("is the bytes of distinct blobs over repositories and tags, as they are stored", async () => {
    const first = await push("web", "1", ["a", "b"]);
    const second = await push("team/api", "1", ["b", "c"]);
    await push("web", "same", ["a", "b"]);
    await sweep();
    expect(await readUsage()).toMatchObject({
      stored_bytes: 3 * LAYER_BYTES + 2 + first.size + second.size,
      tag_count: 3,
      measured_at: expect.any(String),
      limit_bytes: GIB,
      limit_tags: 3,
    });
  });

  test("includes the images of an index, and ends with the last tag that needs a blob", async () => {
    const image = await push("web", "amd64", ["a"]);
    const index = await pushTestIndex(registry(), { orgId, repository: "web", tag: "all" }, [image]);
    await sweep();
    const whole = LAYER_BYTES + 2 + image.size + index.size;
    expect((await readUsage()).stored_bytes).toBe(whole);
    const repository = `${repositoryPrefix(orgId)}web`;
    await backend().deleteTag(repository, "amd64");
    await sweep();
    expect(await readUsage()).toMatchObject({ stored_bytes: whole, tag_count: 1 });
    await backend().deleteTag(repository, "all");
    await sweep();
    expect(await readUsage()).toMatchObject({ stored_bytes: 0, tag_count: 0 });
  });

  test("counts pushed bytes until a measurement includes them", async () => {
    await addPushedBytes(api.deps.db, new Map([[orgId, 500]]));
    await addPushedBytes(api.deps.db, new Map([[orgId, 700]]));
    expect(await readUsage()).toMatchObject({ stored_bytes: 0, pushed_bytes: 1200, measured_at: null });
    await sweep();
    expect(await readUsage()).toMatchObject({ pushed_bytes: 0, measured_at: expect.any(String) });
  });
});

test.each([
  ["first", 0],
  ["second", 1],
])(
  "a notification that cannot be counted for the %s of two organizations is sent again, and counts once for both",
  async (_which, failing) => {
    const organizations = [orgId, await api.createOrganization()];
    const target = { digest: "sha256:0", mediaType: "application/octet-stream", size: 500 };
    const events = organizations.map((id) => ({
      action: "push",
      target: { ...target, repository: `${repositoryPrefix(id)}web` },
    }));
    const headers = { authorization: `Bearer ${registry().notificationToken}` };
    const notify = () =>
      api.request("POST", "/registry/notifications", { as: null, headers, body: { events } });
    await api.deps.sql.unsafe(
      `alter table registry_usage add constraint refused check (org_id <> '${organizations[failing]}') not valid`,
    );
    const refused = await notify();
    await api.deps.sql.unsafe("alter table registry_usage drop constraint refused");
    expect([refused.status, (await notify()).status]).toEqual([500, 204]);
    const rows = await api.deps.sql`
      select pushed_bytes::int as bytes from registry_usage where org_id = any(${organizations})`;
    expect(rows.map(({ bytes }) => bytes)).toEqual([500, 500]);
  },
);

test("a notification whose response was lost counts once, and another push of the same blob once more", async () => {
  const target = { digest: "sha256:0", mediaType: "application/octet-stream", size: 500 };
  const push = (id: string) => ({
    id,
    action: "push",
    target: { ...target, repository: `${repositoryPrefix(orgId)}web` },
  });
  const notify = async (ids: string[]) => {
    const headers = { authorization: `Bearer ${registry().notificationToken}` };
    const body = { events: ids.map(push) };
    const { status } = await api.request("POST", "/registry/notifications", { as: null, headers, body });
    expect(status).toBe(204);
    return (await readUsage()).pushed_bytes;
  };
  const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
  expect(await notify([first])).toBe(500);
  expect(await notify([first])).toBe(500);
  expect(await notify([first, second, second])).toBe(1000);
  await sweep();
  // Also after the measurement that includes it.
  expect(await notify([first])).toBe(0);
  await api.deps
    .sql`update idempotency_keys set created_at = now() - interval '25 hours' where key = ${first}`;
  await purgeIdempotencyKeys(api.deps.db);
  expect(await notify([first])).toBe(500);
});

describe("an organization at its limit", () => {
  const requestToken = async (scope: string) => {
    const created = await api.request("POST", `/api/v1/organizations/${orgId}/api-tokens`, {
      body: {
        name: `ci-${crypto.randomUUID()}`,
        role: "member",
        scopes: ["registry:read", "registry:write"],
      },
    });
    const authorization = `Basic ${Buffer.from(`x:${created.body.token}`).toString("base64")}`;
    const path = `/registry/token?scope=${encodeURIComponent(scope)}`;
    return api.request("GET", path, { as: null, headers: { authorization } });
  };
  const scopeOf = (actions: string) => `repository:org-${orgId}/web:${actions}`;

  test("gets no token to push, with the reason; it still pulls and deletes", async () => {
    expect((await requestToken(scopeOf("pull,push"))).status).toBe(200);
    await addPushedBytes(api.deps.db, new Map([[orgId, GIB]]));
    const { status, body } = await requestToken(scopeOf("pull,push"));
    expect([status, body.error.code]).toEqual([422, "quota_exceeded"]);
    expect(body.error.message).toContain("1.00 GiB of images in the registry, and its limit is 1 GiB");
    expect((await requestToken(scopeOf("pull,delete"))).status).toBe(200);
  });

  test("is measured again soon, also when its repositories were not listed before: blobs that were there before do not keep it from pushing", async () => {
    await push("web", "1", ["a"]);
    await addPushedBytes(api.deps.db, new Map([[orgId, GIB]]));
    const deps = { ...sweepDeps(), limits: LIMITS };
    const listRepositories = () => Promise.reject(new BackendError("timeout", "they are too many"));
    const unlisted = { ...backend(), endingWith: () => ({ ...backend(), listRepositories }) };
    for (const through of [unlisted, backend()])
      await sweepFullOrganizations(deps, through, new AbortController().signal);
    expect(await readUsage()).toMatchObject({ pushed_bytes: 0, tag_count: 1 });
    expect((await requestToken(scopeOf("push"))).status).toBe(200);
  });

  test("of tags pushes again once it has deleted some", async () => {
    for (const tag of ["1", "2", "3"]) await push("web", tag, ["a"]);
    await sweep();
    expect((await requestToken(scopeOf("push"))).status).toBe(422);
    await backend().deleteTag(`${repositoryPrefix(orgId)}web`, "3");
    await sweep();
    expect((await requestToken(scopeOf("push"))).status).toBe(200);
  });
});
