import { expect, test } from "vitest";
import { requireConformance } from "./conformance.ts";

const HEADERS = { "x-request-id": "r-1", "content-type": "application/json" };
const PAGE = { items: [], next_cursor: null };
const ERROR = { error: { code: "bad_request", message: "No.", request_id: "r-1" } };

function response(body: unknown, { status = 200, headers = {} }: { status?: number; headers?: object } = {}) {
  return new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { ...HEADERS, ...headers },
  });
}

test.each<[string, Response]>([
  ["a declared response", response(PAGE)],
  ["a declared error", response(ERROR, { status: 400 })],
  ["a charset", response(PAGE, { headers: { "content-type": "application/json; charset=utf-8" } })],
])("%s passes", async (_what, received) => {
  await expect(requireConformance("/api/v1/organizations?x=1", {}, received)).resolves.toBeUndefined();
});

test.each<[string, Response, string]>([
  ["an undeclared status", response(ERROR, { status: 418 }), "the status 418 is not declared"],
  ["an undeclared media type", response("ok", { headers: { "content-type": "text/plain" } }), "text/plain"],
  ["a missing field", response({}), "must have required property 'items'"],
  ["an undeclared field", response({ ...PAGE, surprise: 1 }), "surprise"],
  [
    "an undeclared field of an error",
    response({ error: { ...ERROR.error, stack: "" } }, { status: 400 }),
    "stack",
  ],
  [
    "an undeclared error code",
    response({ error: { ...ERROR.error, code: "x" } }, { status: 400 }),
    "/error/code",
  ],
  ["a header of another form", response(PAGE, { headers: { "x-request-id": "\u00e9" } }), "X-Request-Id"],
])("%s is a fault", async (_what, received, message) => {
  await expect(requireConformance("http://marina/api/v1/organizations", {}, received)).rejects.toThrow(
    message,
  );
});

test("a response without a request id is a fault; one of no operation is ignored", async () => {
  const bare = () => new Response(JSON.stringify(PAGE), { headers: { "content-type": "application/json" } });
  await expect(requireConformance("/api/v1/organizations", {}, bare())).rejects.toThrow(
    "no header X-Request-Id",
  );
  await expect(requireConformance("/nowhere", {}, bare())).resolves.toBeUndefined();
  await expect(
    requireConformance("/api/v1/organizations", { method: "PATCH" }, bare()),
  ).resolves.toBeUndefined();
});
