import { expect, test } from "vitest";
import { requireConformance } from "./conformance.ts";

const HEADERS = { "x-request-id": "r-1", "content-type": "application/json" };
const ERROR = { error: { code: "bad_request", message: "No.", request_id: "r-1" } };

function answer(body: unknown, { status = 200, headers = {} }: { status?: number; headers?: object } = {}) {
  return new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { ...HEADERS, ...headers },
  });
}

test.each<[string, Response]>([
  ["a declared answer", answer({ status: "ok" })],
  ["a declared error", answer(ERROR, { status: 400 })],
  ["a charset", answer({ status: "ok" }, { headers: { "content-type": "application/json; charset=utf-8" } })],
])("%s passes", async (_what, response) => {
  await expect(requireConformance("/healthz?x=1", {}, response)).resolves.toBeUndefined();
});

test.each<[string, Response, string]>([
  ["an undeclared status", answer(ERROR, { status: 418 }), "the status 418 is not declared"],
  ["an undeclared media type", answer("ok", { headers: { "content-type": "text/plain" } }), "text/plain"],
  ["a missing field", answer({}), "must have required property 'status'"],
  ["an undeclared field", answer({ status: "ok", surprise: 1 }), "surprise"],
  [
    "an undeclared field of an error",
    answer({ error: { ...ERROR.error, stack: "" } }, { status: 400 }),
    "stack",
  ],
  [
    "an undeclared error code",
    answer({ error: { ...ERROR.error, code: "x" } }, { status: 400 }),
    "/error/code",
  ],
  [
    "a header of another form",
    answer({ status: "ok" }, { headers: { "x-request-id": "\u00e9" } }),
    "X-Request-Id",
  ],
])("%s is a fault", async (_what, response, words) => {
  await expect(requireConformance("http://marina/healthz", {}, response)).rejects.toThrow(words);
});

test("an answer without a request id is a fault, and one of no operation is nobody's", async () => {
  const bare = () => new Response('{"status":"ok"}', { headers: { "content-type": "application/json" } });
  await expect(requireConformance("/healthz", {}, bare())).rejects.toThrow("no header X-Request-Id");
  await expect(requireConformance("/nowhere", {}, bare())).resolves.toBeUndefined();
  await expect(requireConformance("/healthz", { method: "PATCH" }, bare())).resolves.toBeUndefined();
});
