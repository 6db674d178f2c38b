import type { Logger } from "../../../shared/program/log.ts";
import { Counter, Gauge, type Registry } from "../../../shared/program/metrics.ts";
import { describeDatabaseError } from "../../db/errors.ts";
import { type Principal, principalKey } from "../../http/authentication/principal.ts";
import { ApiError } from "../../http/errors.ts";
import type { SystemEventsConfig } from "../config.ts";
import type { EventStream } from "./event-stream.ts";

const TICK_MS = 250;
/** Below 30 s, so that streams end within 30 s after access was withdrawn. */
const ACCESS_CHECK_MS = 25_000;
const ACCESS_RETRY_MS = 1_000;
const RETRY_AFTER_SECONDS = 10;

export interface StreamRegistryOptions {
  limits: () => Omit<SystemEventsConfig, "isEnabled">;
  /** Whether the principal may read the events of the organization's clusters now. */
  mayRead(principal: Principal, orgId: string): Promise<boolean>;
  now(): number;
  metrics: Registry;
  /** Aborts when the process drains: every stream ends with `bye`. */
  draining(): AbortSignal;
  log: Logger;
}

/** Called by a stream. */
export interface StreamCallbacks {
  onClosed(): void;
  onDisconnected(): void;
}

export interface StreamRegistry {
  /** Opens a stream within the limits. Throws 429 beyond them, and what `open` throws. */
  add(
    principal: Principal,
    orgId: string,
    open: (callbacks: StreamCallbacks) => Promise<EventStream>,
  ): Promise<EventStream>;
}

/** The streams of one principal in one organization, whose access is checked together. */
interface AccessGroup {
  principal: Principal;
  orgId: string;
  streams: Set<EventStream>;
  checkMs: number;
}

/**
 * The open streams of this process: counted against the limits, driven by a timer, and ended within 30 s when access is
 * withdrawn. Access is checked once for all streams of a principal in an organization; while the check fails, streams
 * stay open, since no event can be read then either.
 */
export function createStreamRegistry(options: StreamRegistryOptions): StreamRegistry {
  const now = () => options.now();
  const streams = new Set<EventStream>();
  const groups = new Map<string, AccessGroup>();
  /** By principal, user and organization: see `keysOf`. */
  const countByKey = new Map<string, number>();
  const metrics = createMetrics(options.metrics, () => streams.size);
  let count = 0;
  let timer: NodeJS.Timeout | undefined;

  function reserve(keys: StreamKeys): void {
    const limits = options.limits();
    const countOf = (key: string) => countByKey.get(key) ?? 0;
    const own = countOf(keys.principal);
    if (own >= limits.maxStreamsPerPrincipal) throw tooMany(`You have ${own} open streams, the maximum`);
    const ofUser = countOf(keys.user);
    if (ofUser >= limits.maxStreamsPerUser)
      throw tooMany(`The user and its API tokens have ${ofUser} open streams, the maximum`);
    const ofOrganization = countOf(keys.organization);
    if (ofOrganization >= limits.maxStreamsPerOrganization)
      throw tooMany(`The organization has ${ofOrganization} open streams, the maximum`);
    if (count >= limits.maxStreams) throw tooMany("Too many streams are open");
    for (const key of Object.values(keys)) countByKey.set(key, countOf(key) + 1);
    count += 1;
  }

  function release(keys: StreamKeys): void {
    count -= 1;
    for (const key of Object.values(keys)) {
      const left = (countByKey.get(key) ?? 1) - 1;
      if (left === 0) countByKey.delete(key);
      else countByKey.set(key, left);
    }
  }

  function register(principal: Principal, orgId: string, stream: EventStream): () => void {
    const key = `${principalKey(principal)} ${orgId}`;
    // Spread over time, when many streams opened at once.
    const checkMs = now() + ACCESS_CHECK_MS * (0.5 + Math.random() / 2);
    const group = groups.get(key) ?? { principal, orgId, streams: new Set(), checkMs };
    groups.set(key, group);
    group.streams.add(stream);
    streams.add(stream);
    timer ??= setInterval(tick, TICK_MS).unref();
    return () => {
      streams.delete(stream);
      group.streams.delete(stream);
      if (group.streams.size === 0 && groups.get(key) === group) groups.delete(key);
      if (streams.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }

  function tick(): void {
    const isDraining = options.draining().aborted;
    for (const stream of streams) {
      if (isDraining) stream.sendBye("shutting_down");
      else stream.tick();
    }
    const nowMs = now();
    for (const group of groups.values()) if (nowMs >= group.checkMs) void check(group);
  }

  async function check(group: AccessGroup): Promise<void> {
    group.checkMs = now() + ACCESS_CHECK_MS;
    try {
      if (await options.mayRead(group.principal, group.orgId)) return;
      for (const stream of group.streams) stream.sendBye("access_withdrawn");
    } catch (error) {
      group.checkMs = now() + ACCESS_RETRY_MS;
      const message = describeDatabaseError(error)?.message ?? String(error);
      options.log.debug({ message }, "cannot check the access of open streams; retrying shortly");
    }
  }

  return {
    async add(principal, orgId, open) {
      const keys = keysOf(principal, orgId);
      reserve(keys);
      let unregister: (() => void) | undefined;
      let isClosed = false;
      const onClosed = () => {
        if (isClosed) return;
        isClosed = true;
        release(keys);
        unregister?.();
      };
      try {
        const stream = await open({ onClosed, onDisconnected: () => metrics.disconnected.inc() });
        if (!isClosed) unregister = register(principal, orgId, stream);
        return stream;
      } catch (error) {
        onClosed();
        throw error;
      }
    },
  };
}

/** What one stream counts in. */
interface StreamKeys {
  principal: string;
  user: string;
  organization: string;
}

function keysOf(principal: Principal, orgId: string): StreamKeys {
  return {
    principal: `principal ${principalKey(principal)}`,
    user: `user ${principal.userId}`,
    organization: `organization ${orgId}`,
  };
}

function tooMany(what: string): ApiError {
  return new ApiError("rate_limited", `${what}; close one, or try again in ${RETRY_AFTER_SECONDS} s.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

function createMetrics(registry: Registry, countStreams: () => number) {
  const registers = [registry];
  new Gauge({
    name: "marina_apiserver_event_streams",
    help: "Open streams of system events",
    registers,
    collect() {
      this.set(countStreams());
    },
  });
  return {
    disconnected: new Counter({
      name: "marina_apiserver_event_streams_cut_off_total",
      help: "Streams disconnected because the client read nothing for 30 s",
      registers,
    }),
  };
}
