import type { RequestListener } from "node:http";
import { afterEach, expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { makeRequest } from "../../e2e/testing/credentials.ts";
import { createEngineer, type Engineer } from "../../e2e/testing/custom-resources.ts";
import { createSimulatedTenant, markReady } from "../../e2e/testing/simulated-tenant.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { composeCaData } from "../../shared/tenant/testing.ts";
import { createTestServers } from "../../shared/tenant/testing-server.ts";

const BY_HAND = { fieldManager: "test" };
const ACCESS = "alice";
const BINDING = /\/clusterrolebindings\/cloud-marina-dev-access-/;
/** A message that is written at every attempt is one behind at most: while that attempt's refusal is being written. */
const BEHIND = 3;

const { authority, serve, stopAll } = await createTestServers();
let engineer: Engineer | undefined;
afterEach(async () => {
  await engineer?.close();
  stopAll();
});

/** An API server without bindings that admits every user, but refuses each access, every time in other words. */
function createRefusingServer(status: number) {
  const state = { refuses: true, attempts: 0 };
  const respond: RequestListener = (request, response) => {
    const { method, url = "" } = request;
    const send = (code: number, body: object) =>
      response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (!BINDING.test(url)) {
      send(method === "POST" ? 201 : 200, { metadata: {}, items: [], status: { allowed: true } });
    } else if (state.refuses) {
      state.attempts += 1;
      const message = `refusal ${state.attempts}: ${"no ".repeat(10_000)}`;
      send(status, { kind: "Status", code: status, message });
    } else {
      send(404, { kind: "Status", code: 404, reason: "NotFound" });
    }
  };
  return { state, respond };
}

test.each([403, 500])(
  "an access whose tenant's API answers %i says so in one bounded sentence however often it is worded anew, is retried with backoff, and is issued once that ends",
  async (status) => {
    const { state, respond } = createRefusingServer(status);
    const made = await createEngineer(readStack());
    engineer = made;
    const { client, namespace } = made;
    await createSimulatedTenant(readStack(), made, "refusing", await serve(respond));
    await markReady(made, "refusing");
    await client.mergePatch(
      secretKind,
      namespace,
      "refusing-ca",
      { data: composeCaData(authority) },
      BY_HAND,
    );
    const { csr } = await makeRequest();
    const spec = { clusterName: "refusing", subject: ACCESS, ttlSeconds: 600, csr };
    await client.create(clusterAccessKind, { metadata: { name: ACCESS, namespace }, spec }, BY_HAND);
    const findReady = async () => {
      const access = await client.get(clusterAccessKind, namespace, ACCESS);
      return access?.status?.conditions?.find(({ type }) => type === "Ready");
    };

    await waitFor("the failure", async () => (await findReady())?.reason === "BindingsFailed");
    const message = await waitFor("attempts that leave the message as it is", async () => {
      const { attempts } = state;
      const { message: text = "" } = (await findReady()) ?? {};
      const [, written] = /refusal (\d+): /.exec(text) ?? [];
      return attempts - Number(written) >= BEHIND ? text : undefined;
    });
    expect(message).toMatch(/in refusing: refusal \d+: no [no ]+\. It is retried automatically\.$/);
    expect(message.length).toBeLessThan(500);

    state.refuses = false;
    await waitFor("the access", async () => (await findReady())?.status === "True");
    const access = await client.get(clusterAccessKind, namespace, ACCESS);
    expect(access?.status?.certificate).toContain("BEGIN CERTIFICATE");
  },
);
