import { createHmac, createSecretKey, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { PATHS, type SenderSettings } from "./programs.ts";

const PATH_COUNT = 100;

/** The least that Node.js can do for one delivery: a signed POST on a kept connection, whose answer is read. */
export type SignedPost = (id: string) => Promise<void>;

export function createSignedPost(settings: SenderSettings): SignedPost {
  const { receiverUrl, caFile, body, secret, concurrency } = settings;
  const agent = new Agent({ keepAlive: true, maxFreeSockets: concurrency, ca: readFileSync(caFile) });
  const key = createSecretKey(secret.slice("whsec_".length), "base64");
  let sent = 0;
  return (id) => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    sent += 1;
    return new Promise((resolve, reject) => {
      request(
        `${receiverUrl}/${PATHS.fast}/${sent % PATH_COUNT}`,
        {
          method: "POST",
          agent,
          headers: {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
            "webhook-id": id,
            "webhook-timestamp": timestamp,
            "webhook-signature": `v1,${signature}`,
          },
        },
        (response) => {
          response.on("error", reject).on("end", resolve).resume();
        },
      )
        .on("error", reject)
        .end(body);
    });
  };
}

/** The ids of events that are to be sent. */
export function createIds(count: number): string[] {
  return Array.from({ length: count }, () => randomUUID());
}
