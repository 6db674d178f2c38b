import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { Stack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { type SecondApiserver, startSecondApiserver } from "../testing/second-apiserver.ts";
import { createTenant, expectStatus, type Tenant } from "../testing/tenant.ts";
import { type HeldEndpoint, type HeldResponse, startHeldEndpoint } from "./held-endpoint.ts";
import { startPostgres } from "./restart-postgres.ts";
import { DIR, test } from "./shared-stack.ts";

const EVENTS = 20;

let stack: Stack;
let alice: Tenant;
let endpoint: HeldEndpoint;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  endpoint = await startHeldEndpoint(DIR);
});

afterAll(() => endpoint?.close());

interface Target {
  orgID: string;
  webhookID: string;
  path: string;
}

async function createTarget(path: string): Promise<Target> {
  const { id: orgID } = expectStatus(201, await alice.call("createOrganization", { body: { name: path } }));
  const body = { url: `${endpoint.url}${path}`, events: ["*" as const] };
  const { id: webhookID } = expectStatus(201, await alice.call("createWebhook", { orgID, body }));
  return { orgID, webhookID, path };
}

/** Returns the id of the delivery. */
async function sendEvent({ orgID, webhookID }: Target): Promise<string> {
  return expectStatus(202, await alice.call("testWebhook", { orgID, webhookID })).id;
}

async function readDelivery({ orgID, webhookID }: Target, deliveryID: string) {
  return expectStatus(200, await alice.call("getWebhookDelivery", { orgID, webhookID, deliveryID }));
}

/** The claim of a process that died or stands still lasts for 60 s. */
async function waitForDelivered(target: Target, deliveryID: string) {
  return waitFor(`${target.path} to be delivered`, async () => {
    const delivery = await readDelivery(target, deliveryID);
    return delivery.status === "delivered" ? delivery : undefined;
  });
}

/** Whether its deliveries are attempted; those that are pending meanwhile are kept. */
async function setEnabled({ orgID, webhookID }: Target, enabled: boolean): Promise<void> {
  expectStatus(200, await alice.call("updateWebhook", { orgID, webhookID, body: { enabled } }));
}

function startReplica(): Promise<SecondApiserver> {
  return startSecondApiserver(DIR, { MARINA_ROLES: "webhooks" });
}

async function kill(replica: SecondApiserver): Promise<void> {
  replica.signal("SIGKILL");
  await replica.exited;
}

/**
 * Stops PostgreSQL with the processes of its connections, which are in separate process groups; returns what lets them
 * go on. While their parent is stopped none of them can vanish.
 */
function stopPostgres(): () => void {
  const { pid } = stack.part("postgres");
  process.kill(pid, "SIGSTOP");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  for (const child of children) process.kill(child, "SIGSTOP");
  return () => {
    for (const one of [...children, pid]) process.kill(one, "SIGCONT");
  };
}

interface Step {
  path: string;
  /** What happens to the only replica while the endpoint holds the request of its attempt. */
  strike: (replica: SecondApiserver, held: HeldResponse) => Promise<void>;
}

const STEPS: readonly Step[] = [
  { path: "/killed-before-the-answer", strike: (replica) => kill(replica) },
  {
    path: "/killed-before-postgres-stores-the-answer",
    async strike(replica, held) {
      const resume = stopPostgres();
      try {
        await held.answer();
        await kill(replica);
      } finally {
        resume();
      }
    },
  },
  {
    path: "/killed-after-the-answer",
    async strike(replica, held) {
      await held.answer();
      await kill(replica);
    },
  },
];

describe("replicas that die or stand still", () => {
  const struck = new Map<string, { target: Target; deliveryID: string }>();
  let stopped: SecondApiserver;
  let held: HeldResponse;
  let last: SecondApiserver;

  /** Each replica is struck while it attempts a delivery; the last one lives and takes over when the claims end. */
  beforeAll(async () => {
    for (const { path, strike } of STEPS) {
      const replica = await startReplica();
      await attempt(path, (request) => strike(replica, request));
      // Otherwise its claim may end, on a slow machine, while the next one lives, which would be struck in this
      // delivery too.
      await setEnabled(readStruck(path).target, false);
    }
    stopped = await startReplica();
    await attempt("/stopped", async (request) => {
      stopped.signal("SIGSTOP");
      held = request;
    });
    last = await startReplica();
    for (const { path } of STEPS) await setEnabled(readStruck(path).target, true);
  });

  afterAll(async () => {
    stopped?.signal("SIGKILL");
    await last?.stop();
  });

  async function attempt(path: string, strike: (request: HeldResponse) => Promise<void>): Promise<void> {
    const target = await createTarget(path);
    const arrived = endpoint.holdNext(path);
    const deliveryID = await sendEvent(target);
    await strike(await arrived);
    struck.set(path, { target, deliveryID });
  }

  function readStruck(path: string) {
    const found = struck.get(path);
    if (found === undefined) throw new Error(`nothing was sent to ${path}`);
    return found;
  }

  const idsOf = (path: string) =>
    endpoint.requests.filter((one) => one.path === path).map(({ webhookId }) => webhookId);

  test.each(STEPS)(
    "$path: the event is delivered, at most one attempt more, with the same webhook-id",
    async ({ path }) => {
      const { target, deliveryID } = readStruck(path);
      const { event_id: eventId } = await waitForDelivered(target, deliveryID);
      const ids = idsOf(path);
      expect(new Set(ids)).toEqual(new Set([eventId]));
      expect(ids.length).toBeLessThanOrEqual(2);
    },
  );

  test("one that stands still past its lease: another one delivers, and what the first one writes later changes nothing", async () => {
    const { target, deliveryID } = readStruck("/stopped");
    const before = await waitForDelivered(target, deliveryID);
    expect(idsOf("/stopped")).toEqual([before.event_id, before.event_id]);
    await held.answer();
    stopped.signal("SIGCONT");
    // It has written what came of its attempt when it has ended.
    stopped.signal("SIGTERM");
    await stopped.exited;
    expect(await readDelivery(target, deliveryID)).toEqual(before);
    expect(idsOf("/stopped")).toHaveLength(2);
  });

  test("Postgres killed and restarted between attempts and their completion: nothing is lost, and nothing is sent twice", async () => {
    const target = await createTarget("/postgres");
    const arrived = endpoint.holdNext(target.path);
    const deliveries = await Promise.all(Array.from({ length: EVENTS }, () => sendEvent(target)));
    const request = await arrived;
    await stack.part("postgres").kill("SIGKILL");
    await request.answer();
    await startPostgres(stack);
    const events = await Promise.all(deliveries.map((id) => waitForDelivered(target, id)));
    expect(idsOf(target.path).sort()).toEqual(events.map(({ event_id }) => event_id).sort());
  });
});
