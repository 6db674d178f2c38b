import { afterEach, expect, test } from "vitest";
import { createTestServers } from "../../shared/tenant/testing-server.ts";
import { createSigners } from "./issue.ts";
import { createRequest } from "./sign.ts";

const { serve, connect, stopAll } = await createTestServers();
afterEach(stopAll);

const START_MS = Date.parse("2026-03-01T12:00:00Z");
const MINUTE_MS = 60_000;
const { csr } = await createRequest("alice", "group");

test("a control plane that signs nothing is asked once in ten minutes, whoever asks, and again for another cluster", async () => {
  let asked = 0;
  const url = await serve((_request, response) => {
    asked += 1;
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
  });
  let nowMs = START_MS;
  const signers = createSigners(() => new Date(nowMs));
  const ask = (key: string) => connect(url, (tenant) => signers.request(key, tenant, csr, 600));

  expect([await ask("org/blue"), await ask("org/blue")]).toEqual([undefined, undefined]);
  expect(asked).toBe(1);
  await ask("org/green");
  expect(asked).toBe(2);
  nowMs += 10 * MINUTE_MS - 1;
  await ask("org/blue");
  expect(asked).toBe(2);
  nowMs += 1;
  await ask("org/blue");
  expect(asked).toBe(3);
  signers.forget("org/blue");
  await ask("org/blue");
  expect(asked).toBe(4);
});

test("a control plane that fails to respond is asked again at once: that says nothing about its signer", async () => {
  let asked = 0;
  const url = await serve((_request, response) => {
    asked += 1;
    response.writeHead(500, { "content-type": "application/json" }).end("{}");
  });
  const signers = createSigners(() => new Date(START_MS));
  const ask = () => connect(url, (tenant) => signers.request("org/blue", tenant, csr, 600));
  await expect(ask()).rejects.toMatchObject({ status: 500 });
  const first = asked;
  await expect(ask()).rejects.toMatchObject({ status: 500 });
  expect(asked).toBe(2 * first);
});
