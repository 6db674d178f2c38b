import { connect } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { fetchConforming } from "../contract/openapi/conformance.ts";
import { document } from "../contract/openapi/document.ts";
import { readStack } from "../platform/stack/testing.ts";
import { createTenant } from "../testing/tenant.ts";

const ENVELOPE = {
  error: { code: expect.any(String), message: expect.any(String), request_id: expect.any(String) },
};
const JSON_TYPE = { "content-type": "application/json" };
const MAX_BODY_BYTES = 262_144;

let organization: string;

beforeAll(async () => {
  const { apiUrl, tokens } = readStack();
  const { body } = await createTenant(apiUrl, tokens.alice).request("POST", "/organizations", {
    name: "Hostile input",
  });
  organization = body.id;
});

interface ApiResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an error or a record
  body: any;
}

type SentInit = Omit<RequestInit, "headers"> & { headers?: Record<string, string> };

async function send(method: string, path: string, init: SentInit = {}): Promise<ApiResponse> {
  const headers = { authorization: `Bearer ${readStack().tokens.alice}`, ...init.headers };
  const response = await fetchConforming(`${readStack().apiUrl}${path}`, { ...init, method, headers });
  const type = response.headers.get("content-type") ?? "";
  const body = type.startsWith("application/json") ? await response.json() : await response.text();
  return { status: response.status, headers: response.headers, body };
}

const post = (body: string | Uint8Array, headers: Record<string, string> = JSON_TYPE) =>
  send("POST", "/api/v1/organizations", { body, headers });

function expectRefusal(response: ApiResponse, status: number, code: string): void {
  expect([response.status, response.body.error?.code]).toEqual([status, code]);
  expect(response.body).toMatchObject(ENVELOPE);
  expect(response.body.error.request_id).toBe(response.headers.get("x-request-id"));
}

describe("bodies", () => {
  test.each<[string, string, number, string, string?]>([
    ["deep JSON", "[".repeat(200_000), 400, "bad_request"],
    ["deep JSON that is complete", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, 400, "bad_request"],
    [
      "deep JSON in an unknown field",
      `{"name":"x","a":${"[".repeat(40)}${"]".repeat(40)}}`,
      400,
      "bad_request",
    ],
    ["a number beyond all numbers", '{"name":1e400}', 422, "validation_failed", "name"],
    ["a NUL in text", '{"name":"a\\u0000b"}', 422, "validation_failed", "name"],
    ["half a surrogate pair", '{"name":"a\\ud800b"}', 422, "validation_failed", "name"],
    ["half a surrogate pair as a key", '{"name":"a","\\udc00":1}', 422, "validation_failed"],
    ["a key twice", '{"name":"a","name":"b"}', 400, "bad_request"],
    ["a key twice in disguise", '{"name":"a","n\\u0061me":"b"}', 400, "bad_request"],
    ["__proto__", '{"name":"a","__proto__":{"slug":"admin"}}', 422, "validation_failed", "__proto__"],
    ["constructor", '{"name":"a","constructor":{"prototype":{}}}', 422, "validation_failed", "constructor"],
    ["an object where text belongs", '{"name":{"$gt":""}}', 422, "validation_failed", "name"],
    ["a list where an object belongs", "[]", 422, "validation_failed", "body"],
    ["null where an object belongs", "null", 422, "validation_failed", "body"],
    ["no body", "", 400, "bad_request"],
    ["blanks", "  \n ", 400, "bad_request"],
    ["half a body", '{"name":', 400, "bad_request"],
    ["a body and more", '{"name":"a"} {"name":"b"}', 400, "bad_request"],
    ["a byte order mark", '\uFEFF{"name":"a"}', 400, "bad_request"],
    ["single quotes", "{'name':'a'}", 400, "bad_request"],
    ["a comment", '{"name":"a"/**/}', 400, "bad_request"],
  ])("%s is refused with what is wrong", async (_, body, status, code, field) => {
    const response = await post(body);
    expectRefusal(response, status, code);
    const named: string | undefined = response.body.error.details?.[0].field;
    expect([undefined, named]).toContain(field);
  });

  test("a long list of faults gets a bounded response", async () => {
    const fields = Array.from({ length: 127 }, (_, n) => `"field${n}":1`);
    const response = await post(`{"name":"a",${fields.join(",")}}`);
    expectRefusal(response, 422, "validation_failed");
    expect(response.body.error.details).toHaveLength(100);
  });

  test("a huge field name is truncated in the response", async () => {
    const response = await post(`{"name":"a","${"k".repeat(200_000)}":1}`);
    expectRefusal(response, 422, "validation_failed");
    expect(JSON.stringify(response.body).length).toBeLessThan(4000);
  });

  test("an oversized list is refused", async () => {
    const cidrs = JSON.stringify(Array.from({ length: 10_000 }, () => "10.0.0.0/8"));
    const body = `{"name":"a","k8s_version":"1.34","authorized_cidrs":${cidrs}}`;
    const path = `/api/v1/organizations/${organization}/clusters`;
    expectRefusal(await send("POST", path, { body, headers: JSON_TYPE }), 422, "validation_failed");
  });

  test.each<[string, Record<string, string>]>([
    ["text", { "content-type": "text/plain" }],
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["another kind of JSON", { "content-type": "application/merge-patch+json" }],
    ["UTF-16", { "content-type": "application/json; charset=utf-16" }],
    ["Latin 1", { "content-type": "application/json;charset=iso-8859-1" }],
    ["nonsense", { "content-type": "application/json, text/plain" }],
  ])("a body said to be %s is 415", async (_, headers) => {
    expectRefusal(await post('{"name":"a"}', headers), 415, "unsupported_media_type");
  });

  test("invalid UTF-8 is refused, not replaced", async () => {
    const body = Buffer.concat([Buffer.from('{"name":"a'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    expectRefusal(await post(body), 400, "bad_request");
  });

  test("a body beyond 256 KiB is 413", async () => {
    expectRefusal(await post(`{"name":"${"a".repeat(MAX_BODY_BYTES)}"}`), 413, "payload_too_large");
  });

  test("a chunked body beyond 256 KiB is 413 before it has ended", async () => {
    const chunk = `10000\r\n${"a".repeat(0x10000)}\r\n`;
    const response = await talk(
      [`POST /api/v1/organizations HTTP/1.1`, ...HEADERS(), "Transfer-Encoding: chunked", "", ""].join(
        "\r\n",
      ) + chunk.repeat(20),
    );
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    expect(response).toContain('"code":"payload_too_large"');
  });
});

describe("URLs", () => {
  test.each([
    ["an id that is none", "/api/v1/organizations/1'%20OR%20'1'='1", 400],
    ["a NUL in an id", "/api/v1/organizations/%00", 400],
    ["broken percent signs", "/api/v1/organizations/%zz", 400],
    ["an address in the query", "/api/v1/organizations?cursor=%27%3BDROP%20TABLE%20members", 400],
    ["an unknown parameter", "/api/v1/organizations?debug=true", 400],
    ["a parameter twice", "/api/v1/organizations?limit=1&limit=2", 400],
    ["a limit that is no number", "/api/v1/organizations?limit=1e1", 400],
    ["a limit beyond all limits", "/api/v1/organizations?limit=99999999999999999999", 400],
    ["a URL of 9 KiB", `/api/v1/organizations?cursor=${"a".repeat(9000)}`, 400],
    ["a way up", "/api/v1/organizations/..%2f..%2fmetrics", 400],
    ["nothing that is there", "/api/v2/organizations", 404],
    ["a file", "/.env", 404],
    ["a slash at the end", "/api/v1/organizations/", 404],
  ])("%s", async (_, path, status) => {
    const response = await send("GET", path);
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject(ENVELOPE);
  });
});

const HEADERS = () => [
  "Host: x",
  `Authorization: Bearer ${readStack().tokens.alice}`,
  "Content-Type: application/json",
];

/**
 * Sends bytes and resolves with everything received until the server closed the connection. It may be reset after the
 * response, as bytes are left that the server has not read.
 */
async function talk(bytes: string): Promise<string> {
  const { hostname, port } = new URL(readStack().apiUrl);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  socket.once("end", () => socket.destroy());
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(bytes);
  await closed;
  return Buffer.concat(received).toString();
}

describe("the wire", () => {
  test.each([
    ["garbage", "\u0016\u0003\u0001\r\n\r\n"],
    ["a header in a header's name", "GET /docs HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n"],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
    ["headers of 20 KiB", `GET /docs HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`],
  ])("%s is 400 in the envelope, and the connection ends", async (_, bytes) => {
    const response = await talk(bytes);
    expect(response).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(response.slice(response.indexOf("\r\n\r\n")))).toMatchObject(ENVELOPE);
  });

  test("garbage after a request does not replace its response", async () => {
    const response = await talk(
      `${["GET /api/v1/me HTTP/1.1", ...HEADERS(), "", ""].join("\r\n")}GARBAGE\r\n\r\n`,
    );
    expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  });

  test.each([
    ["a line end", "abc%0d%0aX-Injected: 1"],
    ["a quote", 'a"b'],
    ["200 characters", "a".repeat(200)],
    ["a blank", "a b"],
  ])("a request id with %s is never sent back", async (_, id) => {
    const response = await send("GET", "/api/v1/me", { headers: { "x-request-id": id } });
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(response.headers.has("x-injected")).toBe(false);
  });

  test("a name with a line break reaches no header", async () => {
    const clusters = `/api/v1/organizations/${organization}/clusters`;
    const body = JSON.stringify({ name: 'a\r\nX-Injected: 1"; filename="b', k8s_version: "1.34" });
    const response = await send("POST", clusters, { body, headers: JSON_TYPE });
    expect([202, 422]).toContain(response.status);
    if (response.status !== 202) return;
    const kubeconfig = await send("GET", `${clusters}/${response.body.id}/kubeconfig`);
    expect([200, 409]).toContain(kubeconfig.status);
    expect(kubeconfig.headers.has("x-injected")).toBe(false);
  });
});

const METHODS = ["get", "post", "put", "delete"];
/** Every operation of the document, with the organization of this test and unknown ids. */
const operations = Object.entries(document.paths).flatMap(([pattern, item]) =>
  METHODS.filter((method) => item[method] !== undefined).map((method) => ({
    name: `${method.toUpperCase()} ${pattern}`,
    method: method.toUpperCase(),
    pattern,
    allowed: METHODS.filter((one) => item[one] !== undefined).map((one) => one.toUpperCase()),
    hasBody: item[method]?.requestBody !== undefined,
    isOpen: (item[method]?.security ?? []).length === 0,
  })),
);
const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const pathOf = (pattern: string) => pattern.replace("{orgID}", organization).replaceAll(/\{\w+\}/g, ID);

describe("every operation", () => {
  test.each(operations)(
    "$name: an unknown query parameter is 400, before anything is looked up",
    async (one) => {
      if (one.pattern.startsWith("/api/v1/admin")) return;
      expectRefusal(await send(one.method, `${pathOf(one.pattern)}?unknown=1`), 400, "bad_request");
    },
  );

  test.each(operations.filter(({ isOpen }) => !isOpen))("$name: no credential is 401", async (one) => {
    const headers = { authorization: "" };
    const response = await send(one.method, pathOf(one.pattern), { headers });
    expectRefusal(response, 401, "unauthorized");
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer realm=/);
  });

  test.each(operations)("$name: an unsupported method is 405 with Allow", async (one) => {
    const response = await send("PATCH", pathOf(one.pattern));
    expectRefusal(response, 405, "method_not_allowed");
    const allow = response.headers.get("allow")?.split(", ") ?? [];
    for (const method of one.allowed) expect(allow).toContain(method);
  });
});

const creating = operations.filter(({ hasBody, pattern }) => hasBody && !/\{(?!orgID)/.test(pattern));

describe("every operation with a body", () => {
  test.each(creating)("$name: 415, 413, 400 and 422 with all faults, in this order", async (one) => {
    const path = pathOf(one.pattern);
    const { alice, staff } = readStack().tokens;
    const authorization = `Bearer ${path.startsWith("/api/v1/admin/") ? staff : alice}`;
    const as = (body: string, headers: Record<string, string>) =>
      send(one.method, path, { body, headers: { ...headers, authorization } });
    expectRefusal(await as("{}", { "content-type": "text/plain" }), 415, "unsupported_media_type");
    expectRefusal(await as("x".repeat(MAX_BODY_BYTES + 1), JSON_TYPE), 413, "payload_too_large");
    expectRefusal(await as("{", JSON_TYPE), 400, "bad_request");
    const response = await as('{"unknown_one":1,"unknown_two":2}', JSON_TYPE);
    expectRefusal(response, 422, "validation_failed");
    const faults = response.body.error.details.map(
      ({ field, code }: { field: string; code: string }) => `${field}/${code}`,
    );
    expect(faults).toEqual(
      expect.arrayContaining(["unknown_one/unknown_field", "unknown_two/unknown_field"]),
    );
    expect(response.body.error.message.startsWith(faults[0])).toBe(true);
  });
});
