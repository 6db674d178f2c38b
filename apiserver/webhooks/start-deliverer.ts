import { readFileSync } from "node:fs";
import type { Config } from "../config.ts";
import { toStorable } from "../db/statement.ts";
import type { Deps } from "../deps.ts";
import type { SendAttempt } from "./deliverer/attempt.ts";
import { type Deliverer, startDeliverer } from "./deliverer/deliverer.ts";
import { createDeliveryMetrics } from "./deliverer/metrics.ts";
import { decryptSecret, UndecryptableSecretError } from "./secrets/cipher.ts";
import { createAddressGuard } from "./sending/address-guard.ts";
import { parseRetryAfter } from "./sending/exchange.ts";
import { createResolver } from "./sending/resolver.ts";
import { createWebhookSender, type Sender } from "./sending/send.ts";
import { createSigningKey, signAttempt } from "./sending/sign.ts";
import type { WebhookSecretRow } from "./table.ts";

type DelivererDeps = Pick<Deps, "db" | "sql" | "log" | "now" | "metrics"> & {
  config: Pick<Config, "webhooks">;
};

/** Sends what is due to the endpoints of tenants until the signal aborts. */
export function startWebhookDeliverer(deps: DelivererDeps, signal: AbortSignal): Deliverer {
  const { config, db, sql, log, now, metrics } = deps;
  const { allowedAddresses, blockedAddresses, caFile, dnsServers, keys, concurrency } = config.webhooks;
  const sender = createWebhookSender({
    guard: createAddressGuard({ allowed: allowedAddresses, blocked: blockedAddresses }),
    resolver: createResolver({ servers: dnsServers }),
    maxIdleConnections: concurrency,
    ...(caFile !== undefined && { caBundle: readFileSync(caFile, "utf8") }),
  });
  const deliveryMetrics = createDeliveryMetrics(metrics, db);
  const decrypt = (webhookId: string, row: WebhookSecretRow) => {
    try {
      return decryptSecret(keys, webhookId, row);
    } catch (error) {
      if (error instanceof UndecryptableSecretError) deliveryMetrics.onUndecryptableSecret();
      throw error;
    }
  };
  const { stopped } = startDeliverer(
    {
      db,
      sql,
      log,
      now,
      metrics: deliveryMetrics,
      send: toSendAttempt(sender, now),
      createSigner: (webhookId, rows) => {
        const keys = rows.map((row) => createSigningKey(decrypt(webhookId, row)));
        return ({ eventId: id, body }, at) => ({ ...HEADERS, ...signAttempt({ id, at, body, keys }) });
      },
      concurrency,
      endpointConcurrency: config.webhooks.concurrencyPerEndpoint,
    },
    signal,
  );
  return { stopped: stopped.finally(() => sender.close()) };
}

const HEADERS = { "content-type": "application/json", "user-agent": "marina-webhooks" };

function toSendAttempt(sender: Sender, now: Deps["now"]): SendAttempt {
  return async (request) => {
    const result = await sender.send(request);
    const { durationMs, errorClass = null } = result;
    if ("status" in result) {
      const retryAfterMs = parseRetryAfter(result.responseHeaders["retry-after"], now());
      return {
        durationMs,
        errorClass,
        errorMessage: null,
        statusCode: result.status,
        responseHeaders: result.responseHeaders,
        responseBody: Buffer.from(result.responseBody),
        retryAfterSeconds: retryAfterMs === undefined ? undefined : retryAfterMs / 1000,
      };
    }
    const errorMessage = toStorable(result.message.toWellFormed());
    return {
      durationMs,
      errorClass,
      errorMessage,
      statusCode: null,
      responseHeaders: null,
      responseBody: null,
    };
  };
}
