import { setTimeout as sleep } from "node:timers/promises";
import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import { isProtectedUrl } from "../../../shared/program/config.ts";
import type { IssuerConfig } from "./issuer-config.ts";

const FETCH_TIMEOUT_MS = 5000;
/** The least time between two reads of the keys, however many unknown key ids are presented. */
const COOLDOWN_MS = 30_000;
/** A key that the issuer withdrew is refused after this time, provided that the issuer is available. */
const MAX_AGE_MS = 10 * 60_000;
const RETRY_MS = 1000;

const discoverySchema = z.object({
  issuer: z.string(),
  jwks_uri: z.url().refine(isProtectedUrl, "must be https, or a loopback address"),
});

export interface IssuerKeys {
  /**
   * Finds the key that a token's header names. An unknown key id refreshes the issuer's keys, at most once per
   * cool-down. While the issuer is unavailable, known keys stay valid and unknown ones are refused.
   */
  resolve: JWTVerifyGetKey;
  isLoaded(): boolean;
  /** Reads the keys; retries every second until it succeeds or `signal` aborts. `onFailure` gets every failure. */
  load(signal: AbortSignal, onFailure: (error: unknown) => void): Promise<void>;
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/** The signing keys of one issuer, from `jwksUrl` or the URL in its discovery document. */
export function createIssuerKeys(config: IssuerConfig, nowMs: () => number = Date.now): IssuerKeys {
  let keys: RemoteKeys | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let reading: Promise<void> | undefined;

  async function readOnce(): Promise<void> {
    triedAtMs = nowMs();
    try {
      const connected = keys ?? (await connect(config));
      await connected.reload();
      keys = connected;
      readAtMs = nowMs();
      failure = undefined;
    } catch (error) {
      failure = error;
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
      const known = keys;
      if (known === undefined) await refresh();
      else if (nowMs() - readAtMs > MAX_AGE_MS) await refresh().catch(() => undefined);
      const current = keys ?? known;
      if (current === undefined) throw failure ?? new Error("the issuer's keys have not been read");
      try {
        return await current(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        const before = readAtMs;
        await refresh();
        if (readAtMs === before) throw error;
        return current(header, token);
      }
    },
    isLoaded: () => keys !== undefined,
    async load(signal, onFailure) {
      while (keys === undefined && !signal.aborted) {
        await read().catch((error: unknown) => {
          onFailure(error);
          return sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
        });
      }
    },
  };
}

/** The library's own refresh is off: it would drop known keys at the first read that fails. */
async function connect(config: IssuerConfig): Promise<RemoteKeys> {
  return createRemoteJWKSet(await findKeysUrl(config), {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: Number.POSITIVE_INFINITY,
    cacheMaxAge: Number.POSITIVE_INFINITY,
  });
}

async function findKeysUrl(config: IssuerConfig): Promise<URL> {
  if (config.jwksUrl !== undefined) return new URL(config.jwksUrl);
  const url = `${config.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  const { issuer, jwks_uri } = discoverySchema.parse(await response.json());
  // OpenID Connect Discovery 1.0, section 4.3: else another tenant of the provider could answer for it.
  if (issuer !== config.issuer) throw new Error(`${url} describes another issuer: ${issuer}`);
  return new URL(jwks_uri);
}
