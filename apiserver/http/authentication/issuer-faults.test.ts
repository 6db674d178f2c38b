import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { findFreePort } from "../../../e2e/platform/programs/free-port.ts";
import { createAuthority } from "../../webhooks/sending/testing-receiver.ts";
import { issuerSchema } from "./issuer-config.ts";
import { createIssuerKeys, explainIssuerFault } from "./issuer-keys.ts";

const NO_KEY = "its key set has no key for RS256, ES256, PS256, EdDSA";
const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** An issuer that answers every request in this way; the sentence of the first failure to read its keys. */
async function readFault(
  status: number,
  body: string,
  { jwksPath }: { jwksPath?: string } = {},
): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => new Promise((resolve) => server.close(resolve)));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const changes = jwksPath === undefined ? {} : { jwksUrl: `${issuer}${jwksPath}` };
  return (await findFault(issuer, changes)).replaceAll(issuer, "ISSUER");
}

async function findFault(
  issuer: string,
  { timeoutMs, ...changes }: { timeoutMs?: number; jwksUrl?: string } = {},
): Promise<string> {
  const config = issuerSchema.parse({ issuer, audience: "marina", ...changes });
  const stop = new AbortController();
  return new Promise((resolve) => {
    const onFailure = (error: unknown, state: { hasKeys: boolean }) => {
      stop.abort();
      resolve(explainIssuerFault(config, error, state));
    };
    const reading = createIssuerKeys(config, { onFailure, ...(timeoutMs && { timeoutMs }) }).load(
      stop.signal,
    );
    open.push(() => reading);
  });
}

test.each([
  ["an error page", 404, "", "ISSUER/.well-known/openid-configuration responded with 404"],
  ["a page of another program", 200, "<html>", "its discovery document is not JSON"],
  ["JSON of another program", 200, "{}", "its discovery document is not valid"],
  [
    "the document of another issuer",
    200,
    '{"issuer": "https://other.example.com", "jwks_uri": "https://other.example.com/keys"}',
    "ISSUER/.well-known/openid-configuration describes another issuer: https://other.example.com",
  ],
])(
  "%s instead of keys is reported in one sentence that says what to check",
  async (_, status, body, reason) => {
    expect(await readFault(status, body)).toBe(
      `The keys of the issuer ISSUER cannot be read (${reason}), so that nobody can sign in with it: check MARINA_OIDC_ISSUERS and that this program can reach ISSUER/.well-known/openid-configuration.`,
    );
  },
);

const KEY = { kty: "RSA", n: "AQ", e: "AQAB" };
test.each([
  ["an error page", 503, "", "ISSUER/keys responded with 503"],
  ["another address", 301, "", "ISSUER/keys responded with 301"],
  ["a page of another program", 200, "<html>", "its key set is not JSON"],
  ["JSON of another program", 200, "[]", "its key set is not valid"],
  ["keys that are none", 200, '{"keys": [7]}', "its key set is not valid"],
  ["no key", 200, '{"keys": []}', NO_KEY],
  ["a shared secret", 200, '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', NO_KEY],
  ["a key to encrypt with", 200, JSON.stringify({ keys: [{ ...KEY, use: "enc" }] }), NO_KEY],
  ["a key for another algorithm", 200, JSON.stringify({ keys: [{ ...KEY, alg: "RS512" }] }), NO_KEY],
  ["a curve that is not accepted", 200, '{"keys": [{"kty": "EC", "crv": "P-521"}]}', NO_KEY],
  ["more than a key set can be", 200, " ".repeat(600_000), "ISSUER/keys sends more than 512 KiB"],
])("%s at the address of the keys is reported in one sentence", async (_, status, body, reason) => {
  const sentence = await readFault(status, body, { jwksPath: "/keys" });
  expect(sentence).toContain(`The keys of the issuer ISSUER cannot be read (${reason}), so that nobody`);
});

test("an issuer that never completes its response is reported by the time that it had", async () => {
  const server = createServer((_, response) => void response.writeHead(200).write("{"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(
    async () => server.closeAllConnections(),
    () => new Promise((resolve) => server.close(resolve)),
  );
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await findFault(issuer, { timeoutMs: 20 })).toContain("did not respond within 0.02 s), so");
});

test("an issuer of an authority that is not trusted is reported by the code of the network, and with the authority it is not", async () => {
  const authority = await createAuthority();
  const server = createTlsServer(await authority.issue({ hosts: ["127.0.0.1"] }), (_, response) => {
    response.end(JSON.stringify({ keys: [KEY] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => new Promise((resolve) => server.close(resolve)));
  const issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await findFault(issuer, { jwksUrl: issuer })).toMatch(
    /cannot be read \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\), so/,
  );
  const keys = createIssuerKeys(
    issuerSchema.parse({ issuer, audience: "marina", jwksUrl: issuer, caBundle: authority.bundle }),
  );
  await keys.load(new AbortController().signal);
  expect(keys.isLoaded()).toBe(true);
});

test("an address without a server is reported by the code of the network", async () => {
  const fault = await findFault(`http://127.0.0.1:${await findFreePort()}`);
  expect(fault).toContain("cannot be read (ECONNREFUSED), so");
});
