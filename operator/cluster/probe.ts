import { request } from "node:https";

/** Where the endpoint is, and the CA that its certificate must chain to. */
export interface ProbeTarget {
  url: string;
  /** PEM; the text is shared with the cache. */
  ca: string;
}

export interface ProbeResult {
  ok: boolean;
  /** Why not; "" when ok. */
  message: string;
}

/** The last word of each endpoint, kept fresh in the background. */
export interface Prober {
  /**
   * The last result for this target, and the wish to keep it fresh; undefined = not asked yet. A target that changed
   * is asked anew. `answered`: it did so before this process began, and waits for its turn among the others.
   */
  watch(key: string, target: ProbeTarget, answered?: boolean): ProbeResult | undefined;
  /** Ends the wish. */
  forget(key: string): void;
  /** Ends all. */
  stop(): void;
}

export interface ProberOptions {
  probe(target: ProbeTarget): Promise<ProbeResult>;
  /** The result of this key is another than before. */
  onChange(key: string): void;
  random(): number;
}

/** Between two questions while all is well, jittered by the same again half: 20 to 30 s. */
const STEADY_MS = 20_000;
/** A question costs 1.5 ms of processor: a large fleet is asked less often. Its engine looks every 10 s as well. */
const MAX_PER_SECOND = 50;
/** After a failure: 1, 2, 4, ... s up to the steady pace, so that a new endpoint is seen soon. */
const FIRST_RETRY_MS = 1_000;
const DEADLINE_MS = 5_000;

interface Entry {
  target: ProbeTarget;
  result: ProbeResult | undefined;
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/** Starts with nothing to ask. */
export function createProber(options: ProberOptions): Prober {
  const entries = new Map<string, Entry>();
  /** When those that had answered before have all had their first turn. */
  let turnsUntil = 0;

  async function ask(key: string, entry: Entry): Promise<void> {
    const result = await options.probe(entry.target);
    if (entries.get(key) !== entry) return;
    const changed = entry.result?.ok !== result.ok || entry.result.message !== result.message;
    entry.result = result;
    entry.failures = result.ok ? 0 : entry.failures + 1;
    const steadyMs = Math.max(STEADY_MS, roundMs()) * (1 + options.random() / 2);
    askAfter(
      result.ok ? steadyMs : Math.min(FIRST_RETRY_MS * 2 ** (entry.failures - 1), steadyMs),
      key,
      entry,
    );
    if (changed) options.onChange(key);
  }

  function askAfter(delayMs: number, key: string, entry: Entry): void {
    entry.timer = setTimeout(() => void ask(key, entry), delayMs);
    entry.timer.unref();
  }

  function takeTurnMs(): number {
    const now = performance.now();
    turnsUntil = Math.max(now, turnsUntil) + 1000 / MAX_PER_SECOND;
    return turnsUntil - now;
  }

  function roundMs(): number {
    return (entries.size / MAX_PER_SECOND) * 1000;
  }

  function forget(key: string): void {
    clearTimeout(entries.get(key)?.timer);
    entries.delete(key);
  }

  return {
    watch(key, target, answered = false) {
      const known = entries.get(key);
      if (known !== undefined && known.target.url === target.url && known.target.ca === target.ca) {
        known.target = target;
        return known.result;
      }
      forget(key);
      const entry: Entry = { target, result: undefined, failures: 0, timer: undefined };
      entries.set(key, entry);
      if (answered) askAfter(takeTurnMs(), key, entry);
      else void ask(key, entry);
      return undefined;
    },
    forget,
    stop() {
      for (const key of entries.keys()) forget(key);
    },
  };
}

/**
 * Asks an API endpoint over TLS that is verified with the cluster's own CA. Any status below 500 is an answer: an API
 * server may refuse an anonymous /readyz (401), or not know it (404). Never rejects.
 */
export function probeEndpoint(target: ProbeTarget): Promise<ProbeResult> {
  const url = new URL("/readyz", target.url);
  return new Promise((resolve) => {
    const no = (message: string) => resolve({ ok: false, message });
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const call = request(url, { ca: target.ca, agent: false, signal }, (response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      if (status < 500) resolve({ ok: true, message: "" });
      else no(`it answers with HTTP status ${status}`);
    });
    call.once("error", (error: NodeJS.ErrnoException) => {
      no(signal.aborted ? `no answer within ${DEADLINE_MS / 1000} s` : (error.code ?? error.message));
    });
    call.end();
  });
}
