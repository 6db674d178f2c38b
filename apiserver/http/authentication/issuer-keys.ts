import { setTimeout as sleep } from "node:timers/promises";
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { type ConfiguredIssuer, discoveryUrlOf } from "./issuer-config.ts";
import { createKeySetReader, DocumentError, requireUsableKey } from "./key-set.ts";

/** The least time between two reads of the keys, however many unknown key ids are presented. */
const COOLDOWN_MS = 30_000;
/** A key that the issuer withdrew is refused after this time, provided that the issuer is available. */
const MAX_AGE_MS = 10 * 60_000;
const RETRY_MS = 1000;

export interface IssuerKeys {
  /**
   * Finds the key that a token's header names. An unknown key id refreshes the issuer's keys, at most once per
   * cool-down. While the issuer is unavailable, known keys stay valid and unknown ones are refused.
   */
  resolve: JWTVerifyGetKey;
  isLoaded(): boolean;
  /** Reads the keys; retries every second until it succeeds or `signal` aborts. */
  load(signal: AbortSignal): Promise<void>;
}

interface IssuerKeysOptions {
  nowMs?: () => number;
  /** Gets every failure to read the keys, at whatever time; `hasKeys`: those of an earlier read are known. */
  onFailure?: (error: unknown, state: { hasKeys: boolean }) => void;
  timeoutMs?: number;
}

/** The signing keys of one issuer, from `jwksUrl` or the URL in its discovery document. */
export function createIssuerKeys(
  config: ConfiguredIssuer,
  { nowMs = Date.now, onFailure = () => undefined, timeoutMs }: IssuerKeysOptions = {},
): IssuerKeys {
  const readKeySet = createKeySetReader(config, timeoutMs);
  let keys: JWTVerifyGetKey | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let reading: Promise<void> | undefined;

  async function readOnce(): Promise<void> {
    triedAtMs = nowMs();
    try {
      const keySet = await readKeySet();
      // Keys that were known are withdrawn by a set without any, which says so by a warning.
      if (keys !== undefined) keys = createLocalJWKSet(keySet);
      requireUsableKey(keySet);
      keys = createLocalJWKSet(keySet);
      readAtMs = nowMs();
      failure = undefined;
    } catch (error) {
      failure = error;
      onFailure(error, { hasKeys: keys !== undefined });
      throw error;
    }
  }

  function read(): Promise<void> {
    reading ??= readOnce().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  const isCoolingDown = () => nowMs() - triedAtMs < COOLDOWN_MS;

  /** Reads the keys unless an attempt was made within the cool-down; throws the error of that attempt. */
  async function refresh(): Promise<void> {
    if (reading === undefined && isCoolingDown()) {
      if (failure !== undefined) throw failure;
      return;
    }
    await read();
  }

  return {
    resolve: async (header, token) => {
      if (keys === undefined) await refresh();
      else if (nowMs() - readAtMs > MAX_AGE_MS) await refresh().catch(() => undefined);
      const current = keys;
      if (current === undefined) throw failure ?? new Error("the issuer's keys have not been read");
      try {
        return await current(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        await refresh();
        if (keys === undefined || keys === current) throw error;
        return keys(header, token);
      }
    },
    isLoaded: () => keys !== undefined,
    async load(signal) {
      while (keys === undefined && !signal.aborted) {
        await read().catch(() => sleep(RETRY_MS, undefined, { signal }).catch(() => undefined));
      }
    },
  };
}

/**
 * Why the keys of an issuer cannot be read, as one sentence that says what to correct. `hasKeys`: those of an earlier
 * read are known.
 */
export function explainIssuerFault(
  config: Pick<ConfiguredIssuer, "issuer" | "jwksUrl">,
  error: unknown,
  { hasKeys }: { hasKeys: boolean },
): string {
  const where = config.jwksUrl ?? discoveryUrlOf(config);
  const effect = hasKeys
    ? "so that only the keys that are known are accepted"
    : "so that nobody can sign in with it";
  return `The keys of the issuer ${config.issuer} cannot be read (${describe(error)}), ${effect}: check MARINA_OIDC_ISSUERS and that this program can reach ${where}.`;
}

/** The code of a network error, else the message; that of an invalid document is one of ours. */
function describe(error: unknown): string {
  if (error instanceof DocumentError) return error.message;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  const isNetwork = "code" in cause && typeof cause.code === "string";
  return isNetwork ? String(cause.code) : cause.message.replace(/\.$/, "");
}
