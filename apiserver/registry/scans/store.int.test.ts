import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { findDigestsWithScan, PRIORITIES, requestMissingScans } from "./store.ts";
import { registryScans } from "./table.ts";

let api: TestApp;

beforeAll(async () => {
  api = await startTestApp();
});
afterAll(() => api.close());

// A statement has at most 65,535 parameters: nine for each scan that is requested, one for each that is looked for.
const REQUESTED = 10_000;
const LOOKED_FOR = 70_000;

test("more scans than fit into a statement are requested and found", async () => {
  const { db, now } = api.deps;
  const orgId = await api.createOrganization();
  const digests = Array.from(
    { length: LOOKED_FOR },
    (_, n) => `sha256:${createHash("sha256").update(String(n)).digest("hex")}`,
  );
  const requests = digests.slice(0, REQUESTED).map((digest) => ({
    orgId,
    digest,
    repository: "team/web",
    priority: PRIORITIES.sweep,
    at: now(),
  }));
  const found = await db.transaction(async (tx) => {
    await requestMissingScans(tx, requests);
    const known = await findDigestsWithScan(tx, orgId, digests);
    // Before a scanner sees them.
    await tx.delete(registryScans).where(eq(registryScans.orgId, orgId));
    return known;
  });
  expect(found.size).toBe(REQUESTED);
});
