import { eq } from "drizzle-orm";
import { beforeAll, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import { STORAGE_INVENTORY_NAME, storageInventoryKind } from "../../../shared/crd/storage-inventory.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { createId } from "../../../shared/program/id.ts";
import { startTestApp } from "../../testing/app.ts";
import { followSharedStorage } from "./figures.ts";
import { createLedgerMetrics } from "./metrics.ts";
import { usageIntervals } from "./table.ts";

const api = setUp(startTestApp);
let look: (now: Date) => Promise<void>;

beforeAll(async () => {
  const ledgerMetrics = createLedgerMetrics(api.deps.metrics);
  look = (now) =>
    followSharedStorage({ ...api.deps, ledgerMetrics, now: () => now }, new AbortController().signal);
});

const START = Date.UTC(2030, 1, 10);
const hour = (hours: number) => new Date(START + hours * 3_600_000);

/** In a Namespace of no organization, so that the operator, which writes real figures, leaves those of the test. */
async function makeInventory(orgId: string): Promise<void> {
  const namespace = `org-${orgId}`;
  const by = { fieldManager: "test" };
  await api.deps.kube.create(namespaceKind, { metadata: { name: namespace } }, by);
  const metadata = { name: STORAGE_INVENTORY_NAME, namespace, labels: { [LABEL_ORG_ID]: orgId } };
  await api.deps.kube.create(storageInventoryKind, { metadata, spec: {} }, by);
}

test("the shared storage of an organization counts as its status reports it, for at most 24 h without news", async () => {
  const orgId = createId();
  await makeInventory(orgId);
  const report = (usedBytes: number, hours: number) =>
    api.deps.kube.mergePatch(
      storageInventoryKind,
      `org-${orgId}`,
      STORAGE_INVENTORY_NAME,
      { status: { usedBytes, observedAt: hour(hours).toISOString() } },
      { fieldManager: "provisioner", subresource: "status" },
    );
  await report(2 ** 40 + 1, 1);
  await look(hour(2));
  await Promise.all([look(hour(3)), look(hour(3))]);
  await report(5000, 4);
  await look(hour(5));
  await look(hour(60));
  const rows = await api.deps.db
    .select()
    .from(usageIntervals)
    .where(eq(usageIntervals.organizationId, orgId));
  expect(rows).toMatchObject([
    { quantity: 1_099_511_627_777n, startedAt: hour(1), endedAt: hour(4), clusterId: null },
    { quantity: 5000n, startedAt: hour(4), endedAt: hour(28), resourceType: "storage_rwx" },
  ]);
});
