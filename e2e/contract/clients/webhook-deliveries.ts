import { writeFileSync } from "node:fs";
import type { Delivery } from "../../platform/stack/receiver.ts";
import type { StackInfo } from "../../platform/stack/stack-info.ts";
import { waitFor } from "../../platform/stack/testing.ts";
import { createTenant, expectStatus } from "../../testing/tenant.ts";
import { openWebhookEndpoint } from "../../testing/webhook-endpoint.ts";

/** What a verifying library is given, and whether it has to accept it. */
interface VerifierCase extends Pick<Delivery, "headers" | "body"> {
  name: string;
  secret: string;
  valid: boolean;
}

/**
 * Writes deliveries of the stack for the programs that verify them: with one secret, with each of two secrets that are
 * valid at once, and what has to be refused. They are valid for five minutes.
 */
export async function recordDeliveries(stack: StackInfo, file: string): Promise<void> {
  const alice = createTenant(stack.apiUrl, stack.tokens.alice);
  const endpoint = openWebhookEndpoint(stack);
  const { id: orgID } = expectStatus(
    201,
    await alice.call("createOrganization", { body: { name: "Verified" } }),
  );
  const body = { url: endpoint.url, events: ["*" as const] };
  const { id: webhookID, secret: first } = expectStatus(
    201,
    await alice.call("createWebhook", { orgID, body }),
  );
  const receive = async (number: number): Promise<Delivery> => {
    expectStatus(202, await alice.call("testWebhook", { orgID, webhookID }));
    return waitFor("the delivery", async () => (await endpoint.list())[number]);
  };
  const before = await receive(0);
  const { secret: second } = expectStatus(200, await alice.call("rotateWebhookSecret", { orgID, webhookID }));
  const after = await receive(1);
  const toCase = (
    name: string,
    secret: string,
    valid: boolean,
    { headers, body: text }: Pick<Delivery, "headers" | "body">,
  ): VerifierCase => ({ name, secret, valid, headers, body: text });
  const cases = [
    toCase("one secret", first, true, before),
    toCase("the replaced secret beside the new one", first, true, after),
    toCase("the new secret", second, true, after),
    toCase("the new secret, for a delivery before it", second, false, before),
    toCase("a changed body", second, false, { ...after, body: `${after.body} ` }),
    toCase("another id", second, false, { ...after, headers: { ...after.headers, "webhook-id": "other" } }),
  ];
  writeFileSync(file, JSON.stringify(cases));
}
