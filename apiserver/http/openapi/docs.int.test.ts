import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { startTestApp } from "../../testing/app.ts";
import { ERROR_CODES } from "../errors.ts";

const api = setUp(startTestApp);

describe("/openapi.json", () => {
  test("is OpenAPI 3.1 and names every error code", async () => {
    const { body } = await api.request("GET", "/openapi.json", { as: null });
    expect(body.openapi).toBe("3.1.0");
    expect(body.components.schemas.ErrorInfo.properties.code.enum).toEqual(ERROR_CODES);
  });

  test("every operation has an id of its own, a tag, a summary, its security and its errors", async () => {
    const { body } = await api.request("GET", "/openapi.json", { as: null });
    const operations = Object.values(body.paths).flatMap((methods) => Object.values(methods as object));
    const ids = operations.map((operation) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const operation of operations) {
      expect(operation.tags).toHaveLength(1);
      expect(operation.summary).toBeTruthy();
      expect(operation.security).toBeDefined();
      const errors = operation.security.length === 0 ? ["400", "500"] : ["400", "401", "500", "503"];
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(errors));
    }
  });
});

describe.each(["/openapi.json", "/docs"])("%s", (path) => {
  test("is cached by its ETag, and compressed on request", async () => {
    const plain = await api.request("GET", path, { as: null });
    expect(plain.headers.get("cache-control")).toBe("public, max-age=300");
    const headers = { "if-none-match": plain.headers.get("etag") ?? "" };
    expect(await api.request("GET", path, { as: null, headers })).toMatchObject({ status: 304, body: "" });
    const compressed = await api.app.request(path, { headers: { "accept-encoding": "gzip" } });
    expect(compressed.headers.get("content-encoding")).toBe("gzip");
    const text = gunzipSync(Buffer.from(await compressed.arrayBuffer())).toString();
    expect(path === "/docs" ? text : JSON.parse(text)).toEqual(plain.body);
  });
});

describe("/docs", () => {
  test("its examples name the public address of the API", async () => {
    const { body: page } = await api.request("GET", "/docs", { as: null });
    expect(page).toContain("curl &#39;http://127.0.0.1/api/v1/me&#39;");
  });

  test("a search has the policy of the page, and an ETag of its own", async () => {
    const { body: page, headers } = await api.request("GET", "/docs?q=UPGRADE%20post", { as: null });
    expect(/<div class="body" id="(.+?)"/.exec(page)?.[1]).toBe("upgradeCluster");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    const condition = { "if-none-match": headers.get("etag") ?? "" };
    const again = await api.request("GET", "/docs?q=UPGRADE%20post", { as: null, headers: condition });
    expect(again).toMatchObject({ status: 304, body: "" });
    const { status, body: whole } = await api.request("GET", "/docs", { as: null, headers: condition });
    expect(status).toBe(200);
    expect((await api.request("GET", "/docs?q=%20", { as: null })).body).toBe(whole);
  });

  test("searches of an address for ever new words are 429, one that is kept is not, and another address has its own", async () => {
    const search = async (words: string, remoteAddress: string) =>
      api.app.request(`/docs?q=${words}`, {}, { incoming: { socket: { remoteAddress } } });
    const words = Array.from({ length: 12 }, (_, n) => `cluster${n}`);
    const responses = await Promise.all(words.map((one) => search(one, "192.0.2.1")));
    expect(responses.map(({ status }) => status)).toEqual([...Array(10).fill(200), 429, 429]);
    expect(responses[11]?.headers.get("retry-after")).toMatch(/^[12]$/);
    expect((await search("cluster1", "192.0.2.1")).status).toBe(200);
    expect((await search("cluster11", "192.0.2.2")).status).toBe(200);
  });

  test("shows every operation, and needs nothing from elsewhere", async () => {
    const { body: document } = await api.request("GET", "/openapi.json", { as: null });
    const { body: page, headers } = await api.request("GET", "/docs", { as: null });
    for (const path of Object.keys(document.paths)) expect(page).toContain(path);
    expect(page).not.toMatch(/<link|<iframe|<img|<script [^>]|url\(|@import|unsafe-/);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).toContain("connect-src 'self'");
    expect(policy).not.toContain("unsafe-");
    for (const element of ["style", "script"]) {
      const [, text = "", ...others] = page.split(new RegExp(`</?${element}>`));
      expect(others).toHaveLength(1);
      const digest = createHash("sha256").update(text).digest("base64");
      expect(policy).toContain(`${element}-src 'sha256-${digest}'`);
    }
  });
});

test.each(["/", "/docs/"])("%s leads to /docs", async (path) => {
  const { status, headers } = await api.request("GET", path, { as: null });
  expect([status, headers.get("location")]).toEqual([302, "/docs"]);
});
