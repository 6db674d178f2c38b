import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { emitWebhookEvents } from "../../events/emit.ts";
import { createWakeup } from "../../work/loop.ts";
import { aReplacement } from "../testing.ts";
import { runFanOut } from "./fan-out-loop.ts";
import { startTestDeliveries, type TestDeliveries } from "./testing.ts";

let deliveries: TestDeliveries;
beforeAll(async () => {
  deliveries = await startTestDeliveries();
});
afterAll(() => deliveries.end());

const emit = (orgId: string) =>
  deliveries.db.transaction((tx) => emitWebhookEvents(tx, [aReplacement({ id: orgId })]));

async function addSubscriber(): Promise<{ orgId: string; webhookId: string }> {
  const orgId = await deliveries.addOrganization();
  return { orgId, webhookId: await deliveries.addWebhook(orgId, "https://hooks.example.com") };
}

test("events whose queue is locked delay another one once, and get their deliveries when the lock ends", async () => {
  const [locked, free] = [await addSubscriber(), await addSubscriber()];
  const stopping = new AbortController();
  const lines: string[] = [];
  const log = createLogger({
    name: "test",
    level: "warn",
    destination: { write: (line) => lines.push(line) },
  });
  const count = async ({ webhookId }: { webhookId: string }) =>
    (await deliveries.findDeliveries(webhookId)).length;
  let ended: Promise<void> | undefined;
  let triedAlone: number | undefined;
  await deliveries.sql.begin(async (tx) => {
    await tx`select from webhook_queues where webhook_id = ${locked.webhookId} for update`;
    for (const { orgId } of [locked, locked, locked, free]) await emit(orgId);
    const wakeup = createWakeup(stopping.signal);
    const onFannedOut = () => {
      triedAlone ??= lines.filter((line) => line.includes("cannot make the deliveries of the event")).length;
    };
    ended = runFanOut({ db: deliveries.db, log, onFannedOut }, wakeup, stopping.signal);
    await waitFor("the other delivery", async () => (await count(free)) === 1);
    expect(await count(locked)).toBe(0);
  });
  await waitFor("the deliveries", async () => (await count(locked)) === 3);
  stopping.abort();
  await ended;
  expect([await count(locked), await count(free), triedAlone]).toEqual([3, 1, 1]);
});
