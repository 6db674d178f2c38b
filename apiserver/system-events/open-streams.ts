import type { Logger } from "../../shared/log.ts";
import { Counter, Gauge, type Registry } from "../../shared/metrics.ts";
import type { SystemEventsConfig } from "../config.ts";
import { describeDatabaseError } from "../db/errors.ts";
import { type Principal, principalKey } from "../http/authentication/principal.ts";
import { ApiError } from "../http/errors.ts";
import type { EventStream } from "./stream.ts";

const TICK_MS = 250;
/** Below 30 s, so that access which was withdrawn has ended by then. */
const ACCESS_CHECK_MS = 25_000;
const ACCESS_RETRY_MS = 1_000;
const RETRY_AFTER_SECONDS = 10;

export interface OpenStreamsOptions {
  limits: () => Pick<SystemEventsConfig, "maxStreams" | "maxStreamsPerPrincipal">;
  /** Whether the principal may read the events of the organization's clusters now. */
  mayRead(principal: Principal, orgId: string): Promise<boolean>;
  now(): number;
  metrics: Registry;
  /** Aborts when the program is about to end: every stream says `bye`. */
  draining(): AbortSignal;
  log: Logger;
}

/** How a stream says that it is over. */
export interface StreamEnds {
  onClosed(): void;
  onCutOff(): void;
}

export interface OpenStreams {
  /** Opens a stream within the limits. Throws 429 beyond them, and what `open` throws. */
  add(
    principal: Principal,
    orgId: string,
    open: (ends: StreamEnds) => Promise<EventStream>,
  ): Promise<EventStream>;
}

/** Streams that one look at the members' table answers for. */
interface Audience {
  principal: Principal;
  orgId: string;
  streams: Set<EventStream>;
  checkMs: number;
}

/**
 * The open streams of this process: counted against the limits, told the time, and ended within 30 s when access is
 * withdrawn. Access is asked for once for all streams of a principal in an organization; while that cannot be told
 * the streams stay, for then no event can be read either.
 */
export function createOpenStreams(options: OpenStreamsOptions): OpenStreams {
  const now = () => options.now();
  const streams = new Set<EventStream>();
  const audiences = new Map<string, Audience>();
  const countByPrincipal = new Map<string, number>();
  const metrics = createMetrics(options.metrics, () => streams.size);
  let count = 0;
  let timer: NodeJS.Timeout | undefined;

  function reserve(key: string): void {
    const { maxStreams, maxStreamsPerPrincipal } = options.limits();
    const own = countByPrincipal.get(key) ?? 0;
    if (own >= maxStreamsPerPrincipal) throw tooMany(`You have ${own} streams open, as many as there may be`);
    if (count >= maxStreams) throw tooMany("Too many streams are open");
    countByPrincipal.set(key, own + 1);
    count += 1;
  }

  function release(key: string): void {
    count -= 1;
    const own = (countByPrincipal.get(key) ?? 1) - 1;
    if (own === 0) countByPrincipal.delete(key);
    else countByPrincipal.set(key, own);
  }

  function enter(principal: Principal, orgId: string, stream: EventStream): () => void {
    const key = `${principalKey(principal)} ${orgId}`;
    // Not all at once, when many have come at once.
    const checkMs = now() + ACCESS_CHECK_MS * (0.5 + Math.random() / 2);
    const audience = audiences.get(key) ?? { principal, orgId, streams: new Set(), checkMs };
    audiences.set(key, audience);
    audience.streams.add(stream);
    streams.add(stream);
    timer ??= setInterval(tick, TICK_MS).unref();
    return () => {
      streams.delete(stream);
      audience.streams.delete(stream);
      if (audience.streams.size === 0 && audiences.get(key) === audience) audiences.delete(key);
      if (streams.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }

  function tick(): void {
    const isDraining = options.draining().aborted;
    for (const stream of streams) {
      if (isDraining) stream.sayBye("shutting_down");
      else stream.tick();
    }
    const nowMs = now();
    for (const audience of audiences.values()) if (nowMs >= audience.checkMs) void check(audience);
  }

  async function check(audience: Audience): Promise<void> {
    audience.checkMs = now() + ACCESS_CHECK_MS;
    try {
      if (await options.mayRead(audience.principal, audience.orgId)) return;
      for (const stream of audience.streams) stream.sayBye("access_withdrawn");
    } catch (error) {
      audience.checkMs = now() + ACCESS_RETRY_MS;
      const message = describeDatabaseError(error)?.message ?? String(error);
      options.log.debug({ message }, "cannot tell whether a stream may go on; once more soon");
    }
  }

  return {
    async add(principal, orgId, open) {
      const key = principalKey(principal);
      reserve(key);
      let leave: (() => void) | undefined;
      let isClosed = false;
      const onClosed = () => {
        if (isClosed) return;
        isClosed = true;
        release(key);
        leave?.();
      };
      try {
        const stream = await open({ onClosed, onCutOff: () => metrics.cutOff.inc() });
        if (!isClosed) leave = enter(principal, orgId, stream);
        return stream;
      } catch (error) {
        onClosed();
        throw error;
      }
    },
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
    cutOff: new Counter({
      name: "marina_apiserver_event_streams_cut_off_total",
      help: "Streams whose client took nothing for 30 s",
      registers,
    }),
  };
}
