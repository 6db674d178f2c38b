import { open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const staff = createTenant(stack.apiUrl, stack.tokens.staff);
const GIB = 2 ** 30;
const CHUNK = Buffer.alloc(64 * 2 ** 20, 7);
const INVENTORY = "storageinventory/shared-storage";

async function createOrganization(): Promise<string> {
  return expectStatus(201, await alice.call("createOrganization", { body: { name: "Shared storage" } })).id;
}

const setQuota = (orgID: string, quotaGB: number | null) =>
  staff.call("setOrganizationStorageQuota", { orgID, body: { quota_gb: quotaGB } });

const readQuota = async (orgID: string) => expectStatus(200, await alice.call("getStorageQuota", { orgID }));

/** The quota as the tenant sees it, once the storage enforces this limit and holds that many bytes. */
function waitForStorage(orgID: string, limitGB: number, isUsed: (bytes: number) => boolean = () => true) {
  return waitFor(`the storage of ${orgID} to be limited to ${limitGB} GiB`, async () => {
    const quota = await readQuota(orgID);
    const { observed_quota_bytes: limit, observed_used_bytes: used } = quota;
    if (limit === limitGB * GIB && used !== null && isUsed(used)) return quota;
    throw new Error(JSON.stringify(quota));
  });
}

/**
 * The refusal of a limit below what is stored. Without an answer of the Kubernetes API within 2 s there is no figure
 * to refuse it by, and it is set.
 */
function waitForRefusal(orgID: string, limitGB: number, formerGB: number | null) {
  return waitFor(`${limitGB} GiB to be refused`, async () => {
    const answer = await setQuota(orgID, limitGB);
    if (answer.status === 409) return answer.body;
    expectStatus(200, await setQuota(orgID, formerGB));
    throw new Error(`the response was ${answer.status}`);
  });
}

/** Writes a file of a little more than 1 GiB into the organization's folder. */
async function storeFile(orgID: string): Promise<string> {
  const file = join(stack.sharedStorage, `org-${orgID}`, "data");
  const handle = await open(file, "w");
  try {
    for (let bytes = 0; bytes <= GIB; bytes += CHUNK.length) await handle.write(CHUNK);
  } finally {
    await handle.close();
  }
  return file;
}

async function inNamespace(orgID: string, ...args: string[]): Promise<string> {
  return (await kubectl(["--namespace", `org-${orgID}`, ...args])).stdout;
}

const readInventory = async (orgID: string) =>
  JSON.parse(await inNamespace(orgID, "get", INVENTORY, "-o", "json"));

describe.concurrent("the shared storage of an organization", () => {
  test("is capped, raised, lowered and reverted by staff, and never lowered below the bytes in it", async () => {
    const orgID = await createOrganization();
    await waitForStorage(orgID, 100, (used) => used === 0);
    expectStatus(200, await setQuota(orgID, 1));
    await waitForStorage(orgID, 1);
    const file = await storeFile(orgID);
    await waitForStorage(orgID, 1, (used) => used > GIB);

    expectStatus(200, await setQuota(orgID, 3));
    await waitForStorage(orgID, 3);
    const refused = await waitForRefusal(orgID, 1, 3);
    expect(refused.error.code).toBe("quota_below_usage");
    expectStatus(200, await setQuota(orgID, 2));
    await waitForStorage(orgID, 2, (used) => used > GIB);

    expectStatus(200, await setQuota(orgID, null));
    const reverted = await waitForStorage(orgID, 100, (used) => used > GIB);
    expect(reverted).toMatchObject({ configured_gb: null, effective_gb: 100 });
    expect((await readInventory(orgID)).spec).toEqual({});

    await rm(file);
    await waitForStorage(orgID, 100, (used) => used < GIB);
    expectStatus(200, await setQuota(orgID, 1));
    await waitForStorage(orgID, 1);
    await inNamespace(orgID, "wait", "--for=condition=Ready", INVENTORY, "--timeout=400s");
    await waitFor("the Events of the storage", async () => {
      const text = await inNamespace(orgID, "get", "events", "-o", "jsonpath={.items[*].reason}");
      return ["StorageCreated", "QuotaReached", "QuotaChanged"].every((reason) => text.includes(reason));
    });
  });

  test("ends with the last limit when staff write several at once", async () => {
    const orgID = await createOrganization();
    await Promise.all([11, 12, 13, 14].map(async (limit) => expectStatus(200, await setQuota(orgID, limit))));
    const { configured_gb: last } = await readQuota(orgID);
    await waitForStorage(orgID, last ?? 0);
  });

  test("keeps its limit and its files when its inventory is deleted by hand, which comes again", async () => {
    const orgID = await createOrganization();
    expectStatus(200, await setQuota(orgID, 5));
    await waitForStorage(orgID, 5);
    const { uid } = (await readInventory(orgID)).metadata;
    await inNamespace(orgID, "delete", INVENTORY);
    await waitFor("another inventory", async () => (await readInventory(orgID)).metadata.uid !== uid);
    await waitForStorage(orgID, 5);
  });

  test("cannot be made unlimited with kubectl", async () => {
    const orgID = await createOrganization();
    await waitForStorage(orgID, 100);
    const edit = inNamespace(orgID, "patch", INVENTORY, "--type=merge", "-p", '{"spec":{"quotaBytes":0}}');
    await expect(edit).rejects.toThrow("must be at least 1");
    expect((await readInventory(orgID)).spec).toEqual({});
  });

  test("has no figure, and may be lowered, when the last one is older than 15 minutes", async () => {
    const orgID = await createOrganization();
    await waitForStorage(orgID, 100);
    // Without its folder the figures stay unchanged.
    const folder = join(stack.sharedStorage, `org-${orgID}`);
    await waitFor("a file in place of the folder, which the operator makes again", async () => {
      await rm(folder, { recursive: true, force: true });
      await writeFile(folder, "no folder");
      return true;
    });
    await inNamespace(orgID, "wait", "--for=condition=Ready=False", INVENTORY, "--timeout=400s");
    const report = (usedBytes: number, ageMinutes: number) => {
      const observedAt = new Date(Date.now() - ageMinutes * 60_000).toISOString();
      const patch = JSON.stringify({ status: { usedBytes, observedAt } });
      return inNamespace(orgID, "patch", INVENTORY, "--subresource=status", "--type=merge", "-p", patch);
    };
    await report(50 * GIB, 10);
    expect((await waitForRefusal(orgID, 40, null)).error.code).toBe("quota_below_usage");
    await report(50 * GIB, 16);
    const stale = { observed_quota_bytes: null, observed_used_bytes: null };
    expect(await readQuota(orgID)).toMatchObject(stale);
    expectStatus(200, await setQuota(orgID, 40));
    await rm(folder);
    await waitForStorage(orgID, 40, (used) => used === 0);
  });
});
