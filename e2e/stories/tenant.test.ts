import { expect, test } from "vitest";
import { readStack } from "../platform/stack/testing.ts";
import { runTenantStory } from "../testing/tenant-story.ts";

test("a tenant creates, watches, uses, scales and deletes a cluster by REST alone", async () => {
  const titles: string[] = [];
  const { feed, nodesAtFirst, nodesAfterScaling, delivered, isSigned } = await runTenantStory(
    readStack(),
    ({ title }) => titles.push(title),
    { deadlineSeconds: 400 },
  );

  expect(titles.at(-1)).toBe("webhook called");
  expect(new Set(delivered)).toEqual(new Set(["cluster.created", "cluster.ready", "cluster.deleted"]));
  expect(isSigned).toBe(true);
  expect(nodesAtFirst).toHaveLength(3);
  expect(nodesAfterScaling).toHaveLength(4);
  expect(nodesAfterScaling).toEqual(expect.arrayContaining(nodesAtFirst));

  const rows = feed.events.filter(({ event }) => event === "system-event" || event === "status");
  const ids = rows.map(({ id }) => BigInt(id));
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1)));
  const statuses = feed.events.filter(({ event, data }) => event === "status" && data.node_pool_id === null);
  expect(statuses.map(({ data }) => data.status)).toEqual(expect.arrayContaining(["running", "deleting"]));
  const told = feed.events.flatMap(({ event, data }) => (event === "system-event" ? [data] : []));
  const sources = new Set(told.map(({ source }) => source));
  expect(sources).toContain("operator");
  expect(sources).toContain("machine");
  const reasons = new Set(told.map(({ reason }) => reason));
  expect(reasons).toContain("SuccessfulSetNodeRef");
  expect([...reasons].filter((reason) => reason.startsWith("Topology"))).toEqual([]);
  expect(feed.events.at(-1)?.event).toBe("deleted");
});
