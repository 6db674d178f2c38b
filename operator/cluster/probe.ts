import { request } from "node:https";

/** Where the endpoint is, and the CA that its certificate must chain to. */
export interface ProbeTarget {
  url: string;
  /** PEM. */
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
   * is asked anew.
   */
  watch(key: string, target: ProbeTarget): ProbeResult | undefined;
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

  async function ask(key: string, entry: Entry): Promise<void> {
    const result = await options.probe(entry.target);
    if (entries.get(key) !== entry) return;
    const changed = entry.result?.ok !== result.ok || entry.result.message !== result.message;
    entry.result = result;
    entry.failures = result.ok ? 0 : entry.failures + 1;
    const steadyMs = STEADY_MS * (1 + options.random() / 2);
    const delayMs = result.ok ? steadyMs : Math.min(FIRST_RETRY_MS * 2 ** (entry.failures - 1), steadyMs);
    entry.timer = setTimeout(() => void ask(key, entry), delayMs);
    entry.timer.unref();
    if (changed) options.onChange(key);
  }

  function forget(key: string): void {
    clearTimeout(entries.get(key)?.timer);
    entries.delete(key);
  }

  return {
    watch(key, target) {
      const known = entries.get(key);
      if (known !== undefined && known.target.url === target.url && known.target.ca === target.ca) {
        return known.result;
      }
      forget(key);
      const entry: Entry = { target, result: undefined, failures: 0, timer: undefined };
      entries.set(key, entry);
      void ask(key, entry);
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
