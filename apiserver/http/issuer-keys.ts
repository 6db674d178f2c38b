import { setTimeout as sleep } from "node:timers/promises";
import { createRemoteJWKSet, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import type { IssuerConfig } from "../config.ts";

const FETCH_TIMEOUT_MS = 5000;
/** Two reads of the keys lie at least this far apart, however many unknown key ids are presented. */
const COOLDOWN_MS = 30_000;
/** A key that the issuer withdrew is no longer accepted after this time. */
const MAX_AGE_MS = 10 * 60_000;
const RETRY_MS = 1000;

const discoverySchema = z.object({ jwks_uri: z.url() });

export interface IssuerKeys {
  /** Finds the key that a token's header names; reads the issuer's keys again for an unknown one. */
  resolve: JWTVerifyGetKey;
  isLoaded(): boolean;
  /** Reads the keys; tries again every second until it worked or `signal` aborts. */
  load(signal: AbortSignal): Promise<void>;
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/** The signing keys of one issuer, from `jwksUrl` or from where its discovery document says. */
export function createIssuerKeys(config: IssuerConfig): IssuerKeys {
  let remote: Promise<RemoteKeys> | undefined;
  let loaded = false;

  function connect(): Promise<RemoteKeys> {
    remote ??= findKeysUrl(config)
      .then((url) =>
        createRemoteJWKSet(url, {
          timeoutDuration: FETCH_TIMEOUT_MS,
          cooldownDuration: COOLDOWN_MS,
          cacheMaxAge: MAX_AGE_MS,
        }),
      )
      .catch((error: unknown) => {
        remote = undefined;
        throw error;
      });
    return remote;
  }

  return {
    resolve: async (header, token) => {
      const keys = await connect();
      const key = await keys(header, token);
      loaded = true;
      return key;
    },
    isLoaded: () => loaded,
    async load(signal) {
      while (!loaded && !signal.aborted) {
        try {
          await (await connect()).reload();
          loaded = true;
        } catch {
          // Readiness tells of it for as long as it lasts.
          await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
        }
      }
    },
  };
}

async function findKeysUrl(config: IssuerConfig): Promise<URL> {
  if (config.jwksUrl !== undefined) return new URL(config.jwksUrl);
  const url = `${config.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return new URL(discoverySchema.parse(await response.json()).jwks_uri);
}
