import { request } from "node:https";
import { findCondition } from "../../shared/controller/conditions.ts";
import type { ClusterStatus } from "../../shared/crd/cluster.ts";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";

/** Where the endpoint is, and the CA that its certificate must chain to. */
export interface ProbeTarget {
  url: string;
  /** PEM. */
  ca: string;
}

export interface ProbeResult {
  ok: boolean;
  /** Why it failed; "" when ok. */
  message: string;
}

/** Probes endpoints in the background and keeps the last result of each. */
export interface Prober {
  /**
   * The last result for this target, which is probed from now on; undefined = not probed yet. A changed target is
   * probed at once, unless it was reachable before this process began: then its first probe may wait for the others'.
   */
  track(key: string, target: ProbeTarget): ProbeResult | undefined;
  /** Stops probing this endpoint. */
  forget(key: string): void;
  /** Stops probing all endpoints. */
  stop(): void;
}

export interface ProberOptions {
  probe(target: ProbeTarget): Promise<ProbeResult>;
  /** Whether a first success is no news: the status has it from an earlier process. */
  isKnownReachable(key: string): boolean;
  /** The result of this key changed. */
  onChange(key: string): void;
  random(): number;
}

/** Whether a status says that the endpoint responds, and nothing waits for that, as the return of a lost cluster does. */
export function isShownReachable(status: ClusterStatus | undefined): boolean {
  const isReachable = findCondition(status?.conditions, "EndpointReachable")?.status === "True";
  return isReachable && findCondition(status?.conditions, "Ready")?.reason !== INFRASTRUCTURE_LOST;
}

/** Between two probes of a reachable endpoint, jittered up to one and a half times: 20 to 30 s. */
const STEADY_MS = 20_000;
/** A probe costs 1.5 ms of CPU: a large fleet is probed less often. Cluster API probes every 10 s as well. */
const MAX_PER_SECOND = 50;
/** After a failure: 1, 2, 4, ... s up to the steady interval, so that a new endpoint is noticed soon. */
const FIRST_RETRY_MS = 1_000;
const DEADLINE_MS = 5_000;

interface Entry {
  target: ProbeTarget;
  result: ProbeResult | undefined;
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/** Starts without endpoints. */
export function createProber(options: ProberOptions): Prober {
  const entries = new Map<string, Entry>();
  /** When all endpoints that were reachable before have been probed once. */
  let slotsUntil = 0;

  async function probe(key: string, entry: Entry): Promise<void> {
    const result = await options.probe(entry.target);
    if (entries.get(key) !== entry) return;
    const isKnown = entry.result === undefined && result.ok && options.isKnownReachable(key);
    const changed = entry.result?.ok !== result.ok || entry.result.message !== result.message;
    entry.result = result;
    entry.failures = result.ok ? 0 : entry.failures + 1;
    const steadyMs = Math.max(STEADY_MS, passMs()) * (1 + options.random() / 2);
    probeAfter(
      result.ok ? steadyMs : Math.min(FIRST_RETRY_MS * 2 ** (entry.failures - 1), steadyMs),
      key,
      entry,
    );
    if (changed && !isKnown) options.onChange(key);
  }

  function probeAfter(delayMs: number, key: string, entry: Entry): void {
    entry.timer = setTimeout(() => void probe(key, entry), delayMs);
    entry.timer.unref();
  }

  function takeSlotMs(): number {
    const now = performance.now();
    slotsUntil = Math.max(now, slotsUntil) + 1000 / MAX_PER_SECOND;
    return slotsUntil - now;
  }

  function passMs(): number {
    return (entries.size / MAX_PER_SECOND) * 1000;
  }

  function forget(key: string): void {
    clearTimeout(entries.get(key)?.timer);
    entries.delete(key);
  }

  return {
    track(key, target) {
      const known = entries.get(key);
      if (known !== undefined && known.target.url === target.url && known.target.ca === target.ca) {
        known.target = target;
        return known.result;
      }
      forget(key);
      const entry: Entry = { target, result: undefined, failures: 0, timer: undefined };
      entries.set(key, entry);
      if (options.isKnownReachable(key)) probeAfter(takeSlotMs(), key, entry);
      else void probe(key, entry);
      return undefined;
    },
    forget,
    stop() {
      for (const key of entries.keys()) forget(key);
    },
  };
}

/**
 * Probes an API endpoint over TLS that is verified with the cluster's own CA. Any status below 500 is a success: an API
 * server may reject an anonymous /readyz (401), or not know it (404). Never rejects.
 */
export function probeEndpoint(target: ProbeTarget, deadlineMs = DEADLINE_MS): Promise<ProbeResult> {
  const url = new URL("/readyz", target.url);
  return new Promise((resolve) => {
    const fail = (message: string) => resolve({ ok: false, message });
    const signal = AbortSignal.timeout(deadlineMs);
    const call = request(url, { ca: target.ca, agent: false, signal }, (response) => {
      // The status is enough: a body may have no end.
      response.destroy();
      const status = response.statusCode ?? 0;
      if (status < 500) resolve({ ok: true, message: "" });
      else fail(`it responds with HTTP status ${status}`);
    });
    call.on("error", (error: NodeJS.ErrnoException) => {
      fail(signal.aborted ? `no response within ${deadlineMs / 1000} s` : (error.code ?? error.message));
    });
    call.end();
  });
}
