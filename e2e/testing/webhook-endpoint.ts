import { readFileSync } from "node:fs";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { Delivery } from "../stack/receiver.ts";
import type { StackInfo } from "../stack/stack-info.ts";

/** An endpoint of the stack's webhook receiver. */
export interface WebhookEndpoint {
  url: string;
  /** Verifies what arrives from then on with this secret. */
  useSecret(secret: string): Promise<void>;
  /** The deliveries so far, oldest first. */
  list(): Promise<Delivery[]>;
}

/** An endpoint that nobody else uses. */
export function openWebhookEndpoint({
  webhookReceiver,
}: Pick<StackInfo, "webhookReceiver">): WebhookEndpoint {
  const url = `${webhookReceiver.url}/${crypto.randomUUID()}`;
  const ca = readFileSync(webhookReceiver.caFile);
  const send = (method: string, body = ""): Promise<string> =>
    new Promise((resolve, reject) => {
      request(url, { method, ca }, (response) => text(response).then(resolve, reject))
        .on("error", reject)
        .end(body);
    });
  return {
    url,
    async useSecret(secret) {
      await send("PUT", secret);
    },
    list: async () => JSON.parse(await send("GET")) as Delivery[],
  };
}
