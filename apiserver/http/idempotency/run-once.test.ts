import type { Context } from "hono";
import { describe, expect, test } from "vitest";
import type { HttpEnv } from "../env.ts";
import { ApiError, invalidField, notFound } from "../errors.ts";
import { canonicalJson, runOnce } from "./run-once.ts";
import type { IdempotencyStore } from "./store.ts";

const STORE: IdempotencyStore = {
  find: async () => undefined,
  claim: async ({ id, objectName }) => ({ outcome: "run", id, objectName, resumed: false }),
  complete: async () => undefined,
  release: async () => undefined,
  forget: async () => undefined,
};
const REQUEST = { scope: "user:1 /x", userId: "1", key: "key", body: {}, confirm: async () => undefined };

test("a stored response is replayed without reading anything anew", async () => {
  const store = { ...STORE, find: async () => ({ status: 202, headers: {}, body: "{}" }) };
  const context = {
    header: () => undefined,
    body: (text: string, status: number) => new Response(text, { status }),
  };
  const fail = () => Promise.reject(new Error("Kubernetes is down"));
  const options = { resume: fail, storedValue: fail };
  const replayed = await runOnce<Response>(
    context as unknown as Context<HttpEnv>,
    store,
    REQUEST,
    options,
    fail,
  );
  expect(replayed.status).toBe(202);
});

test.each([true, false])("a replay is for who has the right (resumed: %s)", async (resumed) => {
  const error = new ApiError("forbidden", "");
  const request = { ...REQUEST, confirm: () => Promise.reject(error) };
  const response = { status: 202, headers: {}, body: "{}" };
  const claim: IdempotencyStore["claim"] = async ({ id, objectName }) =>
    resumed ? { outcome: "run", id, objectName, resumed } : { outcome: "replay", response };
  const find = async () => new Response();
  const once = runOnce({} as Context<HttpEnv>, { ...STORE, claim }, request, { resume: find }, find);
  await expect(once).rejects.toBe(error);
});

describe("the Idempotency-Key of a request that", () => {
  test.each<[string, unknown, string]>([
    ["the caller has no right to any more", new ApiError("forbidden", ""), "release"],
    ["names what is gone by now", notFound("organization"), "release"],
    ["is refused for what stays so", new ApiError("already_exists", ""), "complete"],
    ["may be repeated later", new ApiError("conflict", "", { retryAfterSeconds: 5 }), "release"],
    ["is refused for its body", invalidField("name", "required", ""), "forget"],
    ["meets a backend that is down", new ApiError("dependency_unavailable", ""), "release"],
    ["fails", new Error("unexpected"), "release"],
  ])("%s keeps the refusal only if a repeated request would get it too", async (_case, error, end) => {
    const ended: string[] = [];
    const note = (how: string) => async () => void ended.push(how);
    const store = {
      ...STORE,
      complete: note("complete"),
      release: note("release"),
      forget: note("forget"),
    };
    const run = () => Promise.reject(error);
    // Only a replay uses the context.
    await expect(runOnce({} as Context<HttpEnv>, store, REQUEST, { resume: "run" }, run)).rejects.toBe(error);
    expect(ended).toEqual([end]);
  });
});

test.each([
  ["of 64 KiB is stored", 65_536, "complete"],
  ["of more is not: the next attempt makes it anew", 65_537, "release"],
])("a response %s", async (_what, bytes, end) => {
  const ended: string[] = [];
  const note = (how: string) => async () => void ended.push(how);
  const store = { ...STORE, complete: note("complete"), release: note("release") };
  const run = async () => new Response("x".repeat(bytes), { status: 202 });
  const response = await runOnce({} as Context<HttpEnv>, store, REQUEST, { resume: "run" }, run);
  expect([ended, (await response.text()).length]).toEqual([[end], bytes]);
});

test.each([
  ['{"a":1,"b":{"c":[1,{"x":1,"y":2}]}}', ' { "b" : {"c":[1.0, {"y":2,"x":1}]}, "a":1e0 } '],
  ['{"a":"\\u0041"}', '{"a":"A"}'],
  ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}'],
])("%s has the text of its equal %s", (one, other) => {
  expect(canonicalJson(JSON.parse(one))).toBe(canonicalJson(JSON.parse(other)));
});

test.each([
  ["[1,2]", "[2,1]"],
  ['{"a":null}', "{}"],
  ['{"a":1}', '{"a":"1"}'],
  ['{"__proto__":1}', '{"__proto__":2}'],
])("%s has another text than %s", (one, other) => {
  expect(canonicalJson(JSON.parse(one))).not.toBe(canonicalJson(JSON.parse(other)));
});
