import { messageOf } from "../../../shared/program/errors.ts";
import type { Logger } from "../../../shared/program/log.ts";
import type { SignedRequest } from "../sending/send.ts";
import type { ClaimedDelivery } from "./claim-store.ts";
import type { Attempted, Postponed, Released } from "./result-store.ts";

/** Sends the request of one attempt; rejects only through a fault of Marina's own, or when the signal aborts. */
export type SendAttempt = (
  request: SignedRequest & { signal: AbortSignal },
) => Promise<Omit<Attempted, "kind" | "atMs" | "requestHeaders">>;

/** Returns the headers of an attempt of a delivery, signed for the time `at`. */
export type Signer = (
  delivery: Pick<ClaimedDelivery, "eventId" | "body">,
  at: Date,
) => Record<string, string>;

export interface AttemptDeps {
  send: SendAttempt;
  /** Throws when the secrets of the webhook cannot be read. */
  signerOf: (webhookId: string) => Signer;
  now: () => Date;
  log: Logger;
  /** Aborts when the process can wait no longer for attempts. */
  signal: AbortSignal;
}

/** Makes one attempt of a delivery. Never rejects: after a fault of Marina's own it is `postponed`, for which saveAttemptResults pauses the webhook. */
export async function attempt(
  { send, signerOf, now, log, signal }: AttemptDeps,
  delivery: ClaimedDelivery,
): Promise<Attempted | Postponed | Released> {
  try {
    const at = now();
    const headers = signerOf(delivery.webhookId)(delivery, at);
    const { url, body } = delivery;
    const result = await send({ url, headers, body, signal });
    return { kind: "attempted", atMs: at.getTime(), requestHeaders: headers, ...result };
  } catch (error) {
    if (signal.aborted) return { kind: "released" };
    const { id: deliveryId, webhookId } = delivery;
    const message = messageOf(error);
    log.error(
      { deliveryId, webhookId, message },
      "a delivery cannot be sent; its webhook is paused for a minute",
    );
    return { kind: "postponed" };
  }
}
