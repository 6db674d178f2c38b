import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import type { SendAttempt } from "./attempt.ts";
import type { DelivererOptions } from "./deliverer.ts";
import {
  createTestSender,
  startTestDeliverer,
  startTestDeliveries,
  type TestDeliverer,
  type TestDeliveries,
} from "./testing.ts";
import { type Receiver, startReceiver } from "./testing-receiver.ts";

let store: TestDeliveries;
let receiver: Receiver;
let send: SendAttempt;
let running: TestDeliverer[] = [];
let orgId: string;
let webhookId: string;

beforeAll(async () => {
  [store, receiver] = await Promise.all([startTestDeliveries(), startReceiver()]);
  send = createTestSender(receiver.ca);
});
beforeEach(async () => {
  receiver.requests = [];
  receiver.answer = (_, response) => response.writeHead(204).end();
  orgId = await store.addOrganization();
  webhookId = await store.addWebhook(orgId, `${receiver.url}/hook`);
});
afterEach(async () => {
  await Promise.all(running.map((deliverer) => deliverer.stop()));
  running = [];
});
afterAll(async () => {
  await receiver.close();
  await store.end();
});

function start(changes: Partial<DelivererOptions> = {}): TestDeliverer {
  const deliverer = startTestDeliverer(store, send, changes);
  running.push(deliverer);
  return deliverer;
}

const isSettled = async (id = webhookId) =>
  (await store.findDeliveries(id)).every(({ status }) => status !== "pending");

describe("a delivery", () => {
  test("is sent as stored, and its attempt is in the log", async () => {
    start();
    const [id = ""] = await store.addDeliveries(webhookId, 1);
    await waitFor("the delivery", () => isSettled());
    expect(receiver.requests).toEqual([
      { path: "/hook", headers: expect.objectContaining({ "webhook-id": id }), body: `{"of":"${id}"}` },
    ]);
    const [delivery] = await store.findDeliveries(webhookId);
    expect(delivery).toMatchObject({
      status: "delivered",
      attempts: 1,
      lastStatusCode: 204,
      nextAttemptAt: null,
    });
    expect(await store.findAttempts(id)).toMatchObject([
      {
        number: 1,
        orgId,
        requestUrl: `${receiver.url}/hook`,
        requestHeaders: { "webhook-id": id },
        statusCode: 204,
      },
    ]);
    expect(await store.findQueue(webhookId)).toMatchObject({ dueAt: null, claims: [], lastStatusCode: 204 });
  });

  test("that fails is repeated with the same id and the same bytes", async () => {
    receiver.answer = (_, response) => response.writeHead(receiver.requests.length < 3 ? 500 : 200).end();
    start();
    // From the second attempt on a retry is minutes later: nothing but makeDue has it made.
    const [id = ""] = await store.addDeliveries(webhookId, 1, { attempts: 1 });
    for (const attempts of [2, 3]) {
      await waitFor(
        "a failed attempt",
        async () => ((await store.findDeliveries(webhookId))[0]?.attempts ?? 0) >= attempts,
      );
      await store.makeDue(webhookId);
    }
    await waitFor("the delivery", () => isSettled());
    expect(
      new Set(receiver.requests.map(({ body, headers }) => `${String(headers["webhook-id"])} ${body}`)).size,
    ).toBe(1);
    const attempts = await store.findAttempts(id);
    expect(attempts.map(({ number, statusCode, errorClass }) => [number, statusCode, errorClass])).toEqual([
      [2, 500, "status"],
      [3, 500, "status"],
      [4, 200, null],
    ]);
    expect(await store.findQueue(webhookId)).toMatchObject({ consecutiveFailures: 0, failingSince: null });
  });

  test("whose retries are exhausted is failed", async () => {
    receiver.answer = (_, response) => response.writeHead(500).end();
    await store.addDeliveries(webhookId, 1, { attempts: 7 });
    start();
    await waitFor("the last attempt", () => isSettled());
    const [delivery] = await store.findDeliveries(webhookId);
    expect(delivery).toMatchObject({ status: "failed", attempts: 8, lastErrorClass: "status" });
    expect(await store.findQueue(webhookId)).toMatchObject({ exhaustedEvents: 1, consecutiveFailures: 1 });
  });
});

test("every event reaches its endpoint, sent by two processes, a backlog in one webhook and few in others", async () => {
  const others = await Promise.all(
    Array.from({ length: 20 }, () => store.addWebhook(orgId, `${receiver.url}/other`)),
  );
  const ids = await store.addDeliveries(webhookId, 500);
  for (const id of others) ids.push(...(await store.addDeliveries(id, 3)));
  start();
  start();
  await waitFor("all deliveries", async () =>
    (await Promise.all([webhookId, ...others].map(isSettled))).every(Boolean),
  );
  expect(receiver.requests.map(({ headers }) => String(headers["webhook-id"])).toSorted()).toEqual(
    ids.toSorted(),
  );
});

test("no more than the cap of an endpoint is in progress, over two processes", async () => {
  let open = 0;
  let most = 0;
  const held: (() => void)[] = [];
  receiver.answer = (_, response) => {
    most = Math.max(most, ++open);
    const answer = () => {
      open--;
      response.writeHead(204).end();
    };
    // The first ones are held until there are as many as the cap allows, however slowly they come.
    if (most < 4) held.push(answer);
    else {
      for (const one of held.splice(0)) one();
      // Unequal, so that some attempts of a claim are completed while others are in progress.
      setTimeout(answer, receiver.requests.length % 2 === 0 ? 5 : 120);
    }
  };
  await store.addDeliveries(webhookId, 100);
  start({ endpointConcurrency: 4 });
  start({ endpointConcurrency: 4 });
  await waitFor("all deliveries", () => isSettled());
  expect(receiver.requests).toHaveLength(100);
  expect(most).toBe(4);
});

describe("after ten consecutive failures", () => {
  test("an endpoint gets one attempt, and no other for a minute, until one succeeds", async () => {
    receiver.answer = (_, response) => response.writeHead(500).end();
    await store.setQueue(webhookId, { consecutiveFailures: 10 });
    await store.addDeliveries(webhookId, 30);
    const before = Date.now();
    start();
    const paused = await waitFor(
      "the pause",
      async () => (await store.findQueue(webhookId)).pausedUntil ?? undefined,
    );
    expect(paused.getTime()).toBeGreaterThanOrEqual(before + 60_000);
    await store.addDeliveries(webhookId, 1);
    expect((await store.findQueue(webhookId)).dueAt).toEqual(paused);
    expect(receiver.requests).toHaveLength(1);
    receiver.answer = (_, response) => response.writeHead(204).end();
    await store.makeDue(webhookId);
    await waitFor("all deliveries", () => isSettled());
  });
});

test("what Marina itself cannot sign is postponed for a minute, and does not count against the endpoint", async () => {
  const other = await store.addWebhook(orgId, `${receiver.url}/other`);
  await store.addDeliveries(webhookId, 3);
  await store.addDeliveries(other, 1);
  start({
    createSigner(id) {
      if (id === webhookId) throw new Error("the key is missing");
      return () => ({});
    },
  });
  await waitFor("the pause", async () => (await store.findQueue(webhookId)).pausedUntil !== null);
  await waitFor("the other delivery", () => isSettled(other));
  for (const delivery of await store.findDeliveries(webhookId))
    expect(delivery).toMatchObject({ status: "pending", attempts: 0 });
  const queue = await waitFor("the end of all claims", async () => {
    const found = await store.findQueue(webhookId);
    return found.claims.length === 0 ? found : undefined;
  });
  expect(queue).toMatchObject({ consecutiveFailures: 0, failingSince: null, dueAt: queue.pausedUntil });
});

test("a process that drains completes its attempts", async () => {
  const held: (() => void)[] = [];
  receiver.answer = (_, response) => void held.push(() => response.writeHead(204).end());
  await store.addDeliveries(webhookId, 1);
  const deliverer = start();
  await waitFor("the request", () => held.length === 1);
  const stopped = deliverer.stop();
  for (const answer of held) answer();
  await stopped;
  expect(await isSettled()).toBe(true);
});

test("a process stops although Postgres never confirms that it no longer listens", async () => {
  const unlisten = vi.fn<() => Promise<void>>(() => new Promise(() => undefined));
  const deliverer = start({ sql: { listen: async () => ({ unlisten }) } });
  await store.addDeliveries(webhookId, 1);
  await waitFor("the delivery", () => isSettled());
  await deliverer.stop();
  expect(unlisten).toHaveBeenCalledTimes(1);
});

test("the last attempt of an endpoint is the one that began last, although an earlier one ends after it", async () => {
  const held: (() => void)[] = [];
  receiver.answer = (_, response) => void held.push(() => response.writeHead(500).end());
  const [slow = ""] = await store.addDeliveries(webhookId, 1);
  start();
  await waitFor("the slow request", () => held.length === 1);
  receiver.answer = (_, response) => response.writeHead(204).end();
  await store.addDeliveries(webhookId, 1);
  const last = await waitFor("the other delivery", async () => {
    const queue = await store.findQueue(webhookId);
    return queue.lastAttemptAt === null ? undefined : queue;
  });
  for (const answer of held) answer();
  await waitFor("the slow attempt", async () => (await store.findAttempts(slow)).length === 1);
  const { lastAttemptAt } = last;
  expect(await store.findQueue(webhookId)).toMatchObject({
    lastAttemptAt,
    lastStatusCode: 204,
    consecutiveFailures: 1,
  });
});
