import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import type { Delivery } from "../platform/stack/receiver.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";

/** An endpoint of the stack's webhook receiver. */
export interface WebhookEndpoint {
  url: string;
  /** Verifies what arrives afterwards with this secret. */
  useSecret(secret: string): Promise<void>;
  /** The deliveries so far, oldest first. */
  list(): Promise<Delivery[]>;
}

/** An endpoint that no other test uses, or the one of this path. */
export function openWebhookEndpoint(
  { webhookReceiver }: Pick<StackInfo, "webhookReceiver">,
  path = `/${crypto.randomUUID()}`,
): WebhookEndpoint {
  const url = `${webhookReceiver.url}${path}`;
  const ca = readFileSync(webhookReceiver.caFile);
  const send = async (method: string, body = ""): Promise<string> => {
    const sent = request(url, { method, ca }).end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    return text(response);
  };
  return {
    url,
    async useSecret(secret) {
      await send("PUT", secret);
    },
    list: async () => JSON.parse(await send("GET")) as Delivery[],
  };
}
