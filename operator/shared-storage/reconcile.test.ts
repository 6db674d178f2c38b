import { expect, test } from "vitest";
import { StorageError } from "./driver.ts";
import { createPoolList, type Listing } from "./pool-list.ts";
import type { ObservedInventory } from "./reconcile.ts";
import { reconcileInventory } from "./reconcile.ts";
import { anInventory, GIB, ORG_ID } from "./testing.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const failure = new StorageError("unavailable", "it timed out");

function listed(quotaBytes?: number): Listing {
  const pools = createPoolList();
  pools.replace(quotaBytes === undefined ? [] : [{ orgId: ORG_ID, quotaBytes, usedBytes: 5 }], NOW);
  return pools.read();
}

function observe(rest: Partial<ObservedInventory>): ObservedInventory {
  return {
    inventory: anInventory(),
    organization: { kind: "known", id: ORG_ID },
    listing: listed(100 * GIB),
    defaultQuotaBytes: 100 * GIB,
    ...rest,
  };
}

const observed = { kind: "report", outcome: { kind: "observed" } };
const deleting = anInventory();
deleting.metadata.deletionTimestamp = "2026-03-01T11:00:00Z";

test.each<[string, Partial<ObservedInventory>, object]>([
  ["the default, in force", {}, observed],
  [
    "the default, without a pool",
    { listing: listed() },
    { kind: "create", orgId: ORG_ID, quotaBytes: 100 * GIB },
  ],
  [
    "a limit of its own",
    { inventory: anInventory({ quotaBytes: 7 }) },
    { kind: "limit", orgId: ORG_ID, quotaBytes: 7 },
  ],
  [
    "a limit taken back, so that the default is written",
    { listing: listed(7) },
    { kind: "limit", orgId: ORG_ID, quotaBytes: 100 * GIB },
  ],
  [
    "a limit of its own, in force",
    { inventory: anInventory({ quotaBytes: 7 }), listing: listed(7) },
    observed,
  ],
  [
    "a limit of 0 as none, which a storage would take for unlimited",
    { inventory: anInventory({ quotaBytes: 0 }), listing: listed() },
    { kind: "create", quotaBytes: 100 * GIB },
  ],
  ["nothing while no list was read", { listing: { kind: "none" } }, { kind: "ignore" }],
  [
    "a failed list",
    { listing: { kind: "failed", error: failure } },
    { kind: "report", outcome: { kind: "failed", error: failure } },
  ],
  [
    "a Namespace of no organization",
    { organization: { kind: "unknown" } },
    { kind: "report", outcome: { kind: "stalled", reason: "UnknownOrganization" } },
  ],
  ["nothing for a deleted inventory", { inventory: deleting, listing: listed() }, { kind: "ignore" }],
])("of an inventory is decided: %s", (_name, rest, expected) => {
  expect(reconcileInventory(observe(rest))).toMatchObject(expected);
});

test("a single failed list keeps the last one, the second in a row is reported, and a list ends it", () => {
  const pools = createPoolList();
  pools.replace([], NOW);
  pools.fail(failure);
  expect(pools.read().kind).toBe("listed");
  pools.fail(failure);
  expect(pools.read().kind).toBe("failed");
  pools.replace([], NOW);
  pools.fail(failure);
  expect(pools.read().kind).toBe("listed");
});

test("a failed list is reported at once when there was none before", () => {
  const pools = createPoolList();
  pools.fail(failure);
  expect(pools.read()).toEqual({ kind: "failed", error: failure });
});

test("a changed pool replaces what was listed of it", () => {
  const pools = createPoolList();
  pools.replace([{ orgId: ORG_ID, quotaBytes: 1, usedBytes: 0 }], NOW);
  pools.update(ORG_ID, { orgId: ORG_ID, quotaBytes: 2, usedBytes: 1 }, NOW);
  const listing = pools.read();
  expect(listing.kind === "listed" && listing.pools.get(ORG_ID)).toMatchObject({
    quotaBytes: 2,
    usedBytes: 1,
  });
});
