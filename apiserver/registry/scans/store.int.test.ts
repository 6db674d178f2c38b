import { createHash } from "node:crypto";
import { and, count, eq, inArray } from "drizzle-orm";
import { beforeEach, describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";
import { findKnownDigests } from "../usage/store.ts";
import {
  findScan,
  MAX_PENDING,
  PRIORITIES,
  requestMissingScans,
  requestOutdatedScans,
  requestScan,
  touchScans,
} from "./store.ts";
import { registryScans } from "./table.ts";

/** Up to half of the pending scans of an organization may be scans that no user waits for. */
const MAX_UNASKED = MAX_PENDING / 2;

const api = setUp(startTestApp);
let orgId: string;

beforeEach(async () => {
  orgId = await api.createOrganization();
});

const digestOf = (n: number) => `sha256:${createHash("sha256").update(String(n)).digest("hex")}`;
const digestsTo = (end: number, start = 0) =>
  Array.from({ length: end - start }, (_, n) => digestOf(start + n));

const requestMissing = (digests: readonly string[], priority: keyof typeof PRIORITIES, owner = orgId) =>
  requestMissingScans(
    api.deps.db,
    owner,
    digests.map((digest) => ({
      digest,
      repository: "web",
      priority: PRIORITIES[priority],
      at: api.deps.now(),
    })),
  );

const requestOne = (n: number) =>
  requestScan(api.deps.db, {
    orgId,
    digest: digestOf(n),
    repository: "web",
    priority: PRIORITIES.requested,
    at: api.deps.now(),
  });

async function countPending(owner = orgId): Promise<number> {
  const [row] = await api.deps.db
    .select({ total: count() })
    .from(registryScans)
    .where(and(eq(registryScans.orgId, owner), inArray(registryScans.state, ["pending", "running"])));
  return row?.total ?? 0;
}

describe("the pending scans of an organization", () => {
  test("are bounded, whatever it pushes; another organization has room of its own", async () => {
    const other = await api.createOrganization();
    await requestMissing(digestsTo(MAX_PENDING + 200), "pushed");
    expect(await countPending()).toBe(MAX_PENDING);
    await requestMissing(digestsTo(2), "pushed", other);
    expect(await countPending(other)).toBe(2);
  });

  test("leave room for pushed images after those that a sweep finds", async () => {
    await requestMissing(digestsTo(MAX_PENDING), "sweep");
    expect(await countPending()).toBe(MAX_UNASKED);
    await requestMissing(digestsTo(MAX_PENDING + 1, MAX_PENDING), "pushed");
    expect(await countPending()).toBe(MAX_UNASKED + 1);
  });

  test("refuse another one with 429, and not one that is pending", async () => {
    await requestMissing(digestsTo(MAX_PENDING), "pushed");
    await expect(requestOne(MAX_PENDING)).rejects.toMatchObject({
      code: "rate_limited",
      retryAfterSeconds: 60,
      details: [{ field: "pending_image_scans" }],
    });
    expect(await requestOne(0)).toMatchObject({ state: "pending" });
    expect(await findScan(api.deps.db, orgId, digestOf(0))).toMatchObject({ priority: PRIORITIES.requested });
  });
});

test("a new vulnerability database causes scans of each organization, of none more than may be pending", async () => {
  const other = await api.createOrganization();
  const usedSince = api.deps.now();
  const scanned = { state: "success" as const, databaseVersion: "1", repository: "web", priority: 1 };
  const rowsOf = (owner: string, digests: readonly string[]) =>
    digests.map((digest) => ({ ...scanned, orgId: owner, digest, usedAt: usedSince }));
  await api.deps.db.insert(registryScans).values(rowsOf(orgId, digestsTo(MAX_UNASKED + 10)));
  await api.deps.db.insert(registryScans).values(rowsOf(other, digestsTo(3)));
  await requestOutdatedScans(api.deps.db, { databaseVersion: "2", usedSince, at: api.deps.now() });
  expect([await countPending(), await countPending(other)]).toEqual([MAX_UNASKED, 3]);
});

// A statement has at most 65,535 parameters.
const MANY = 70_000;

test("more digests than fit into a statement are looked for and noted as in use", async () => {
  const digests = digestsTo(MANY);
  await requestMissing(digests.slice(0, 10), "sweep");
  expect((await findKnownDigests(api.deps.db, registryScans, orgId, digests)).size).toBe(10);
  const usedAt = new Date(api.deps.now().getTime() + 60_000);
  await touchScans(api.deps.db, orgId, digests, usedAt);
  const rows = await api.deps.db.select().from(registryScans).where(eq(registryScans.orgId, orgId));
  expect(rows.map((row) => row.usedAt)).toEqual(Array(10).fill(usedAt));
});
