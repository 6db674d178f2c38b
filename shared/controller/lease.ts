import type { KubeClient } from "../kube/client.ts";
import { type Lease, leaseKind } from "../kube/core-kinds.ts";
import { KubeError } from "../kube/errors.ts";
import type { Logger } from "../program/log.ts";
import { formatMicroTime, sleep } from "../program/time.ts";

export interface LeaderElectionOptions {
  client: Pick<KubeClient, "get" | "create" | "mergePatch">;
  namespace: string;
  /** Name of the Lease. */
  name: string;
  /** Unique per process, for example "<host>_<random>". */
  identity: string;
  fieldManager: string;
  /**
   * A candidate takes a Lease over that it has not seen renewed for this long (15 000). A leader that could not renew it for
   * two thirds of it stops leading.
   */
  leaseDurationMs?: number | undefined;
  /** Between two attempts (2 000). */
  retryPeriodMs?: number | undefined;
  /** It stopped leading (not called by `release`). The process should end. */
  onLost(): void;
  /** For the metric: called at start with false and on every change. */
  onLeader?: ((leads: boolean) => void) | undefined;
  log: Logger;
}

/** Whether this process leads. */
export interface Leadership {
  /** True only while the Lease is certainly ours: turns false by the clock when it is not renewed. */
  isLeader(): boolean;
  /** Resolves as soon as this process leads, or the signal aborts. */
  untilLeader(signal: AbortSignal): Promise<void>;
}

/** For a program that runs as a single process: it always leads. */
export const SOLE_LEADER: Leadership = { isLeader: () => true, untilLeader: () => Promise.resolve() };

export interface LeaderElection extends Leadership {
  start(): void;
  /** Stops, and releases the Lease when it is ours, so that the next leader does not wait for it to expire. */
  release(): Promise<void>;
}

/** What a candidate last observed, and when it observed a change, by its own clock. */
interface Observed {
  lease: Lease;
  changedAt: number;
}

/**
 * Leader election over one Lease, as client-go does it. Expiry counts from when this process observed a change, so
 * clocks need not agree; every write carries the resourceVersion read, so two candidates cannot both succeed.
 */
export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const { client, namespace, name, identity, fieldManager, log } = options;
  const leaseDurationMs = options.leaseDurationMs ?? 15_000;
  const renewDeadlineMs = (leaseDurationMs * 2) / 3;
  const retryPeriodMs = options.retryPeriodMs ?? 2_000;
  const stopping = new AbortController();
  const callTimeoutMs = renewDeadlineMs / 2;
  let observed: Observed | undefined;
  /** When the Lease was last renewed: the moment before the successful write was sent. */
  let renewedAt = Number.NEGATIVE_INFINITY;
  let leads = false;
  /** `observed` is what our own last write returned, so a leader renews in one call. */
  let isCurrent = false;
  let loop: Promise<void> = Promise.resolve();

  /** Ends the waiting of each `untilLeader`. */
  const waiting = new Set<() => void>();

  const holdsByClock = () => performance.now() - renewedAt < renewDeadlineMs;

  function observe(lease: Lease): void {
    const before = observed?.lease.metadata.resourceVersion;
    if (before === lease.metadata.resourceVersion) return;
    observed = { lease, changedAt: performance.now() };
  }

  function isTakeable({ lease, changedAt }: Observed): boolean {
    const { holderIdentity, leaseDurationSeconds } = lease.spec ?? {};
    if (!holderIdentity || holderIdentity === identity) return true;
    const validMs = leaseDurationSeconds ? leaseDurationSeconds * 1000 : leaseDurationMs;
    return performance.now() - changedAt >= validMs;
  }

  /** One attempt to take or renew. Resolves to whether the Lease is ours now; rejects when that is unknown. */
  async function acquire(): Promise<boolean> {
    const call = { fieldManager, timeoutMs: callTimeoutMs };
    if (!isCurrent) {
      const lease = await client.get(leaseKind, namespace, name, { timeoutMs: callTimeoutMs });
      if (lease === undefined) return claimed(() => client.create(leaseKind, firstLease(), call));
      observe(lease);
    }
    const current = observed;
    if (current === undefined || !isTakeable(current)) return false;
    return claimed(() => client.mergePatch(leaseKind, namespace, name, claim(current.lease), call));
  }

  async function claimed(write: () => Promise<Lease>): Promise<true> {
    const from = performance.now();
    // What the Lease holds is unknown until the write has succeeded: after a failure it is read first.
    isCurrent = false;
    observe(await write());
    isCurrent = true;
    renewedAt = from;
    return true;
  }

  function firstLease() {
    const now = formatMicroTime();
    return {
      metadata: { namespace, name },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 0,
      },
    };
  }

  function claim({ metadata, spec }: Lease) {
    const now = formatMicroTime();
    const changes = spec?.holderIdentity !== identity;
    return {
      metadata: { resourceVersion: metadata.resourceVersion },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        renewTime: now,
        ...(changes && { acquireTime: now, leaseTransitions: (spec?.leaseTransitions ?? 0) + 1 }),
      },
    };
  }

  async function step(): Promise<void> {
    try {
      if (await acquire()) {
        setLeads(true);
        for (const end of waiting) end();
      } else if (leads) setLeads(false);
    } catch (error) {
      const contended = error instanceof KubeError && (error.isConflict || error.isAlreadyExists);
      if (!contended) log.warn({ lease: name, leads, err: error }, "leader election failed, retrying");
    }
    if (leads && !holdsByClock()) setLeads(false);
  }

  function setLeads(now: boolean): void {
    if (leads === now) return;
    leads = now;
    options.onLeader?.(now);
    log.info({ lease: name, identity }, now ? "leading" : "lost leadership");
    if (!now) options.onLost();
  }

  async function run(): Promise<void> {
    options.onLeader?.(false);
    do await step();
    while (await sleep(retryPeriodMs * (leads ? 1 : 1 + Math.random() / 2), stopping.signal));
  }

  const isLeader = () => leads && holdsByClock();

  return {
    start() {
      loop = run();
    },
    isLeader,
    untilLeader(signal) {
      if (isLeader() || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const end = () => {
          waiting.delete(end);
          signal.removeEventListener("abort", end);
          resolve();
        };
        waiting.add(end);
        signal.addEventListener("abort", end);
      });
    },
    async release() {
      stopping.abort();
      await loop;
      if (!leads || observed === undefined) return;
      leads = false;
      options.onLeader?.(false);
      try {
        // A renewal whose response was lost may have been stored: then the Lease has a newer resourceVersion.
        const lease = isCurrent
          ? observed.lease
          : await client.get(leaseKind, namespace, name, { timeoutMs: callTimeoutMs });
        if (lease?.spec?.holderIdentity !== identity) return;
        const patch = {
          metadata: { resourceVersion: lease.metadata.resourceVersion },
          spec: { holderIdentity: "", leaseDurationSeconds: 1, renewTime: formatMicroTime() },
        };
        await client.mergePatch(leaseKind, namespace, name, patch, {
          fieldManager,
          timeoutMs: callTimeoutMs,
        });
      } catch (error) {
        log.warn({ lease: name, err: error }, "the Lease was not released, it will expire");
      }
    },
  };
}
