import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../shared/program/log.ts";
import type { Database } from "../../db/client.ts";
import { DELIVERIES_CHANNEL } from "../../events/emit.ts";
import { createBatchQueue } from "../../work/batch-queue.ts";
import { createWakeup, describeFailure, runLoop } from "../../work/loop.ts";
import type { WebhookSecretRow } from "../table.ts";
import { type AttemptDeps, attempt, type SendAttempt, type Signer } from "./attempt.ts";
import { type ClaimedDelivery, claimDeliveries, findNextDueMs, findSigningSecrets } from "./claim-store.ts";
import { runFanOut } from "./fan-out-loop.ts";
import type { DeliveryMetrics } from "./metrics.ts";
import { type AttemptResult, saveAttemptResults } from "./result-store.ts";

/** While nothing is due the database is asked this often, in case a notification was lost. */
const POLL_MS = 1000;
/** Between two claims: so that one takes many deliveries when many are due. */
const MIN_CLAIM_INTERVAL_MS = 10;
/** While a smaller fraction of the slots is free, the next claim waits for more, for about `BUSY_POLL_MS`. */
const CLAIM_MIN_FREE_FRACTION = 0.25;
/** Attempts whose results wait to be written, per concurrent attempt; more are not claimed. */
const MAX_UNWRITTEN_PER_ATTEMPT = 2;
/**
 * While something may be due that is not taken: another process holds its queue, its organization has no capacity, or few
 * slots are free.
 */
const BUSY_POLL_MS = 100;
const GATHER_RESULTS_MS = 10;
const RESULT_BATCH = 400;
/** Seen after a restart of Postgres: a promise of postgres.js that never settled. The end of the process ends the listening too. */
const UNLISTEN_MS = 1000;
/** How long a draining process waits for the attempts in progress; then it releases their deliveries. */
const DRAIN_MS = 8000;
/** How long the last results may take; what is not written is attempted again when its claim ends. */
const LAST_RESULTS_MS = 5000;

/** What the deliverer uses of a `Sql`. */
interface Listener {
  listen(
    channel: string,
    onNotification: () => void,
    onListening: () => void,
  ): Promise<{ unlisten(): Promise<void> }>;
}

export interface DelivererOptions {
  db: Database;
  sql: Listener;
  log: Logger;
  now: () => Date;
  metrics: DeliveryMetrics;
  send: SendAttempt;
  /** What signs for a webhook with these secrets, of which there is at least one. Throws when one cannot be read. */
  createSigner: (webhookId: string, secrets: readonly WebhookSecretRow[]) => Signer;
  /** Attempts at once of this process. */
  concurrency: number;
  /** Attempts at once of one endpoint, over all replicas. */
  endpointConcurrency: number;
}

export interface Deliverer {
  /** Resolves when the signal has aborted and the attempts in progress are completed or released. */
  stopped: Promise<void>;
}

/** Fans out events and attempts due deliveries until the signal aborts. Any number of processes may do so at once. */
export function startDeliverer(options: DelivererOptions, signal: AbortSignal): Deliverer {
  const { db, log } = options;
  const slots = createSlots(options.concurrency);
  const maxUnwritten = options.concurrency * MAX_UNWRITTEN_PER_ATTEMPT;
  const claimThreshold = Math.ceil(options.concurrency * CLAIM_MIN_FREE_FRACTION);
  let lastClaimMs = Number.NEGATIVE_INFINITY;
  /** Attempts that have ended and whose result is not written. */
  let unwritten = 0;
  /** Aborts the attempts in progress, DRAIN_MS after `signal`. */
  const aborting = new AbortController();
  /** Ends the writing of results, last of all. */
  const ending = new AbortController();
  const wakeup = createWakeup(signal);

  const results = createBatchQueue<AttemptResult>({
    name: "webhook-attempt-results",
    batchSize: RESULT_BATCH,
    gatherMs: GATHER_RESULTS_MS,
    keyOf: ({ delivery }) => `${delivery.id} ${delivery.claimId}`,
    async run(batch) {
      for (const result of await saveAttemptResults(db, batch)) options.metrics.onResult(result);
      unwritten -= batch.length;
      wakeup.wake();
    },
    log,
    signal: ending.signal,
  });

  /** Frees the slot of an attempt at once; its result is written with others. */
  function end(result: AttemptResult): void {
    unwritten++;
    slots.release(result.delivery.orgId);
    results.add(result);
    if (slots.free() >= claimThreshold) wakeup.wake();
  }

  /** Few free slots are left alone for a while: many small claims cost more than a few large ones. */
  const hasFreeSlots = () => {
    const minFreeSlots = performance.now() - lastClaimMs < BUSY_POLL_MS ? claimThreshold : 1;
    return slots.free() >= minFreeSlots && unwritten < maxUnwritten;
  };

  async function claim(): Promise<ClaimedDelivery[]> {
    lastClaimMs = performance.now();
    const claimed = await claimDeliveries(db, {
      limit: slots.free(),
      endpointConcurrency: options.endpointConcurrency,
      orgCapacityOf: slots.orgCapacityOf,
      busyOrgIds: slots.busyOrgIds(),
    });
    for (const { orgId } of claimed) slots.take(orgId);
    return claimed;
  }

  async function attemptAll(claimed: readonly ClaimedDelivery[]): Promise<void> {
    try {
      const secrets = await findSigningSecrets(
        db,
        claimed.map(({ webhookId }) => webhookId),
      );
      const parts: AttemptDeps = {
        ...options,
        signal: aborting.signal,
        signerOf: memoizeSigner((webhookId) =>
          options.createSigner(webhookId, requireSecrets(secrets, webhookId)),
        ),
      };
      for (const delivery of claimed) void attemptOne(parts, delivery);
    } catch (error) {
      warn(log, error, "cannot read signing secrets; the deliveries are released");
      for (const delivery of claimed) end({ delivery, outcome: { kind: "released" } });
    }
  }

  async function attemptOne(parts: AttemptDeps, delivery: ClaimedDelivery): Promise<void> {
    const outcome = await attempt(parts, delivery);
    if (outcome.kind === "attempted") options.metrics.onAttempt(outcome);
    end({ delivery, outcome });
  }

  async function claimAndAttempt(): Promise<number> {
    if (!hasFreeSlots()) return slots.free() > 0 ? BUSY_POLL_MS : POLL_MS;
    const claimed = await claim();
    if (claimed.length === 0) return toWaitMs(await findNextDueMs(db));
    await attemptAll(claimed);
    return MIN_CLAIM_INTERVAL_MS;
  }

  async function run(): Promise<void> {
    const fanOutWakeup = createWakeup(signal);
    const stopListening = listen(options, () => {
      fanOutWakeup.wake();
      wakeup.wake();
    });
    const loop = {
      log,
      signal,
      wakeup,
      failure: "cannot claim deliveries; retrying shortly",
      retryMs: POLL_MS,
      minIntervalMs: MIN_CLAIM_INTERVAL_MS,
    };
    await Promise.all([
      runLoop(loop, claimAndAttempt),
      runFanOut({ db, log, onFannedOut: wakeup.wake }, fanOutWakeup, signal),
    ]);
    await Promise.race([stopListening(), sleep(UNLISTEN_MS, undefined, { ref: false })]);
    await Promise.race([slots.idle(), sleep(DRAIN_MS, undefined, { ref: false })]);
    aborting.abort();
    await Promise.race([
      slots.idle().then(() => results.idle()),
      sleep(LAST_RESULTS_MS, undefined, { ref: false }),
    ]);
    ending.abort();
    await results.stopped;
  }

  return { stopped: run() };
}

function toWaitMs(nextDueMs: number | undefined): number {
  if (nextDueMs === undefined) return POLL_MS;
  return nextDueMs <= 0 ? BUSY_POLL_MS : Math.min(POLL_MS, Math.ceil(nextDueMs));
}

/** One for all deliveries of a webhook, since reading its secrets takes longer than to sign. */
function memoizeSigner(create: (webhookId: string) => Signer): (webhookId: string) => Signer {
  const signers = new Map<string, Signer>();
  return (webhookId) => {
    const signer = signers.get(webhookId) ?? create(webhookId);
    signers.set(webhookId, signer);
    return signer;
  };
}

function requireSecrets(
  secrets: ReadonlyMap<string, WebhookSecretRow[]>,
  webhookId: string,
): WebhookSecretRow[] {
  const found = secrets.get(webhookId);
  if (found === undefined) throw new Error("the webhook has no signing secret");
  return found;
}

/** Calls `onNotification` at every notification, and after every reconnection, since those in between are lost. */
function listen({ sql, log }: DelivererOptions, onNotification: () => void): () => Promise<void> {
  const listening = sql.listen(DELIVERIES_CHANNEL, onNotification, onNotification);
  listening.catch((error: unknown) => warn(log, error, "cannot listen for deliveries; they are polled"));
  return async () => {
    await listening
      .then(
        (listened) => listened.unlisten(),
        () => undefined,
      )
      .catch(() => undefined);
  };
}

function warn(log: Logger, error: unknown, text: string): void {
  log.warn({ message: describeFailure(error) }, text);
}

/** The part of the slots that the deliveries of one organization may hold. */
const ORGANIZATION_SHARE = 0.25;

interface Slots {
  free: () => number;
  /** How many more an organization may hold. */
  orgCapacityOf: (orgId: string) => number;
  busyOrgIds: () => string[];
  take: (orgId: string) => void;
  release: (orgId: string) => void;
  /** Resolves when none is held. */
  idle: () => Promise<void>;
}

/**
 * The attempts that this process makes at once. One organization holds a quarter of them at most, so that its endpoints
 * cannot delay those of others, however many of them hang.
 */
function createSlots(size: number): Slots {
  const held = new Map<string, number>();
  const share = Math.max(1, Math.floor(size * ORGANIZATION_SHARE));
  let idleWaiters: (() => void)[] = [];
  let total = 0;
  return {
    free: () => size - total,
    orgCapacityOf: (orgId) => share - (held.get(orgId) ?? 0),
    busyOrgIds: () => [...held].filter(([, count]) => count >= share).map(([orgId]) => orgId),
    take(orgId) {
      total++;
      held.set(orgId, (held.get(orgId) ?? 0) + 1);
    },
    release(orgId) {
      total--;
      const count = (held.get(orgId) ?? 0) - 1;
      if (count > 0) held.set(orgId, count);
      else held.delete(orgId);
      if (total > 0) return;
      for (const resolve of idleWaiters) resolve();
      idleWaiters = [];
    },
    idle: () => (total === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve))),
  };
}
