import { json as readJson } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { createTestServers } from "../../shared/tenant/testing-server.ts";
import { NotAdmittedError, waitUntilAdmitted } from "./admission.ts";

const { serve, connect, stopAll } = await createTestServers();
afterEach(stopAll);

const USER = { user: "alice", groups: ["group"] };

/** A server that gives these answers in turn, the last one for good. Returns what it was asked. */
async function play(answers: readonly { status?: number; body: unknown }[]) {
  const asked: unknown[] = [];
  const url = await serve(async (request, response) => {
    asked.push(await readJson(request));
    const { status = 201, body } = answers[Math.min(asked.length, answers.length) - 1] ?? { body: {} };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const wait = (withinMs = 60_000) => connect(url, (tenant) => waitUntilAdmitted(tenant, USER, withinMs));
  return { asked, wait };
}

const allowed = (is: unknown) => ({ body: { status: { allowed: is } } });

test("a user is waited for until the tenant's API server admits it to everything", async () => {
  const { asked, wait } = await play([allowed(false), allowed(false), allowed(true)]);
  await wait();
  expect(asked).toHaveLength(3);
  const resourceAttributes = { group: "*", resource: "*", verb: "*" };
  expect(asked[2]).toMatchObject({ spec: { ...USER, resourceAttributes } });
});

test("one that is never admitted is an error", async () => {
  const { wait } = await play([allowed(false)]);
  await expect(wait(300)).rejects.toBeInstanceOf(NotAdmittedError);
});

test("an API server without reviews is not asked again", async () => {
  const { asked, wait } = await play([{ status: 404, body: { code: 404, reason: "NotFound" } }]);
  await wait();
  expect(asked).toHaveLength(1);
});

test.each([
  ["no status", { body: {} }],
  ["a text for the answer", allowed("true")],
  ["a refusal", { status: 403, body: { code: 403, reason: "Forbidden" } }],
])("%s is an error, never an admission", async (_, answer) => {
  const { wait } = await play([answer]);
  await expect(wait()).rejects.toMatchObject({ name: "KubeError" });
});
