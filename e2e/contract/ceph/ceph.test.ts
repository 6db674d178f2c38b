import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildBundles } from "../../../build.ts";
import { DEFAULT_PROVIDER } from "../../platform/stack/provider.ts";
import { type Stack, startStack } from "../../platform/stack/stack.ts";
import { kubectl, waitFor } from "../../platform/stack/testing.ts";
import { createTenant, expectStatus, type Tenant } from "../../testing/tenant.ts";
import { type CephCluster, startCeph } from "./ceph-cluster.ts";

const DIR = join(import.meta.dirname, "..", "..", "..", ".marina", "ceph");
const GIB = 2 ** 30;
const PIECE = 128 * 2 ** 20;
const INVENTORY = "storageinventory/shared-storage";

let ceph: CephCluster;
let stack: Stack;
let alice: Tenant;
let staff: Tenant;

beforeAll(async () => {
  await buildBundles();
  ceph = await startCeph(join(DIR, "storage"));
  stack = await startStack({
    dir: join(DIR, "stack"),
    provider: DEFAULT_PROVIDER,
    fresh: true,
    onCrash: "report",
    operator: {
      MARINA_STORAGE_DRIVER: "ceph",
      MARINA_CEPH_URL: ceph.url,
      MARINA_CEPH_USERNAME: ceph.username,
      MARINA_CEPH_PASSWORD_FILE: ceph.passwordFile,
    },
  });
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  staff = createTenant(stack.info.apiUrl, stack.info.tokens.staff);
});
afterAll(async () => {
  await stack?.stop();
  await ceph?.stop();
});

const poolOf = (orgID: string) => `marina-${orgID}`;

async function createOrganization(): Promise<string> {
  return expectStatus(201, await alice.call("createOrganization", { body: { name: "Ceph" } })).id;
}

const setQuota = (orgID: string, quotaGB: number | null) =>
  staff.call("setOrganizationStorageQuota", { orgID, body: { quota_gb: quotaGB } });

/** Once the tenant sees this limit, and that much in use. */
function waitForStorage(orgID: string, limitGB: number, isUsed: (bytes: number) => boolean = () => true) {
  return waitFor(`the storage of ${orgID} to be limited to ${limitGB} GiB`, async () => {
    const quota = expectStatus(200, await alice.call("getStorageQuota", { orgID }));
    const { observed_quota_bytes: limit, observed_used_bytes: used } = quota;
    if (limit === limitGB * GIB && used !== null && isUsed(used)) return quota;
    throw new Error(JSON.stringify(quota));
  });
}

/** The limit that Ceph itself reports. */
async function readLimit(orgID: string): Promise<number> {
  const text = await ceph.ceph("osd", "pool", "get-quota", poolOf(orgID), "--format", "json");
  return (JSON.parse(text) as { quota_max_bytes: number }).quota_max_bytes;
}

async function inNamespace(orgID: string, ...args: string[]): Promise<string> {
  return (await kubectl(["--namespace", `org-${orgID}`, ...args], { stack: stack.info })).stdout;
}

const waitForReady = (orgID: string) =>
  inNamespace(orgID, "wait", "--for=condition=Ready=True", INVENTORY, "--timeout=400s");

/** A manager that responds too late has another reason for a while. */
async function waitForFailure(orgID: string, reason: string): Promise<void> {
  await waitFor(`the storage of ${orgID} not to be ready: ${reason}`, async () => {
    const text = await inNamespace(orgID, "get", INVENTORY, "-o", "json");
    const { conditions } = (JSON.parse(text) as { status: { conditions: Record<string, string>[] } }).status;
    const ready = conditions.find(({ type }) => type === "Ready");
    if (ready?.status === "False" && ready.reason === reason) return true;
    throw new Error(JSON.stringify(ready));
  });
}

test("Ceph stops writes at the limit, a raise lets them continue, and no limit goes below what is stored", async () => {
  const orgID = await createOrganization();
  await waitForStorage(orgID, 100, (used) => used === 0);
  expectStatus(200, await setQuota(orgID, 1));
  await waitForStorage(orgID, 1);
  const pool = poolOf(orgID);
  // Exactly the limit: Ceph may have stopped the writes when another piece begins.
  for (let piece = 0; piece * PIECE < GIB; piece += 1)
    await ceph.store(pool, `data-${piece}`, PIECE, 120_000);
  await waitForStorage(orgID, 1, (used) => used > GIB - PIECE);
  await waitFor("a full pool", async () => (await ceph.ceph("health", "detail")).includes("POOL_FULL"));
  await expect(ceph.store(pool, "more", PIECE, 5000)).rejects.toMatchObject({ killed: true });

  expectStatus(200, await setQuota(orgID, 3));
  await waitForStorage(orgID, 3);
  await waitFor("a write", () => ceph.store(pool, "more", PIECE, 60_000).then(() => true));
  await waitForStorage(orgID, 3, (used) => used > GIB);
  expect(expectStatus(409, await setQuota(orgID, 1)).error.code).toBe("quota_below_usage");
  expect(await readLimit(orgID)).toBe(3 * GIB);
  expectStatus(200, await setQuota(orgID, 2));
  await waitForStorage(orgID, 2, (used) => used > GIB);

  expectStatus(200, await setQuota(orgID, null));
  await waitForStorage(orgID, 100);
  expect(await readLimit(orgID)).toBe(100 * GIB);
  await ceph.ceph("osd", "pool", "delete", pool, pool, "--yes-i-really-really-mean-it");
});

test("a manager that does not answer is reported, and a limit set meanwhile takes effect when it is back", async () => {
  const orgID = await createOrganization();
  await waitForStorage(orgID, 100);
  await ceph.stopManager();
  try {
    await waitForFailure(orgID, "StorageUnavailable");
    expectStatus(200, await setQuota(orgID, 7));
  } finally {
    await ceph.startManager();
  }
  await waitForStorage(orgID, 7);
  await waitForReady(orgID);
});

test("a password that Ceph does not accept is reported, and the right one in the file ends it", async () => {
  const orgID = await createOrganization();
  await waitForStorage(orgID, 100);
  const password = "second-Passw0rd";
  await ceph.setPassword(password);
  try {
    await waitForFailure(orgID, "RejectedByStorage");
  } finally {
    ceph.writePassword(password);
  }
  expect(await waitForReady(orgID)).toBeDefined();
});

test("a pool that was deleted by hand comes again with its limit", async () => {
  const orgID = await createOrganization();
  expectStatus(200, await setQuota(orgID, 5));
  await waitForStorage(orgID, 5);
  const pool = poolOf(orgID);
  const created = (text: string) => (JSON.parse(text) as { pool_id: number }).pool_id;
  const readId = async () =>
    created(await ceph.ceph("osd", "pool", "get", pool, "pg_num", "--format", "json"));
  const before = await readId();
  await ceph.ceph("osd", "pool", "delete", pool, pool, "--yes-i-really-really-mean-it");
  await waitFor("another pool", async () => (await readId()) !== before);
  await waitFor("its limit", async () => (await readLimit(orgID)) === 5 * GIB);
  await waitForReady(orgID);
});
