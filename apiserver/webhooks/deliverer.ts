import { readFileSync } from "node:fs";
import type { Deps } from "../deps.ts";
import type { Sender as AttemptSender } from "./delivery/attempt.ts";
import { createDeliveryMetrics } from "./delivery/metrics.ts";
import { type Deliverer, startDeliverer } from "./delivery/worker.ts";
import { decryptSecret } from "./secrets/cipher.ts";
import { createAddressGuard } from "./sending/address-guard.ts";
import { createResolver } from "./sending/resolver.ts";
import { parseRetryAfter } from "./sending/retry-after.ts";
import { createSender, type Sender } from "./sending/send.ts";
import { signAttempt } from "./sending/sign.ts";

/** Sends what is due to the endpoints of tenants until the signal aborts. */
export function startWebhookDeliverer(deps: Deps, signal: AbortSignal): Deliverer {
  const { config, db, sql, log, now, metrics } = deps;
  const { allowedAddresses, blockedAddresses, caFile, dnsServers, keys } = config.webhooks;
  const sender = createSender({
    guard: createAddressGuard({ allowed: allowedAddresses, blocked: blockedAddresses }),
    resolver: createResolver({ servers: dnsServers }),
    ...(caFile !== undefined && { caBundle: readFileSync(caFile, "utf8") }),
  });
  const { stopped } = startDeliverer(
    {
      db,
      sql,
      log,
      now,
      metrics: createDeliveryMetrics(metrics, db),
      sender: toAttemptSender(sender, now),
      sign: ({ eventId: id, body, webhookId }, at, rows) => {
        const secrets = rows.map((row) => decryptSecret(keys, webhookId, row));
        return { ...HEADERS, ...signAttempt({ id, at, body, secrets }) };
      },
      concurrency: config.webhooks.concurrency,
      endpointConcurrency: config.webhooks.concurrencyPerEndpoint,
    },
    signal,
  );
  return { stopped: stopped.finally(() => sender.close()) };
}

const HEADERS = { "content-type": "application/json", "user-agent": "marina-webhooks" };

function toAttemptSender(sender: Sender, now: Deps["now"]): AttemptSender {
  return {
    async send(request) {
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
      const errorMessage = toStorable(result.message);
      return {
        durationMs,
        errorClass,
        errorMessage,
        statusCode: null,
        responseHeaders: null,
        responseBody: null,
      };
    },
  };
}

/** PostgreSQL stores neither U+0000 nor half a surrogate pair. */
function toStorable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}
