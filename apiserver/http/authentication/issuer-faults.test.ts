import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { findFreePort } from "../../../e2e/platform/programs/free-port.ts";
import { issuerSchema } from "./issuer-config.ts";
import { explainIssuerFault } from "./issuer-faults.ts";
import { createIssuerKeys } from "./issuer-keys.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** An issuer that answers every request in this way; the sentence of the first failure to read its keys. */
async function readFault(status: number, body: string): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => new Promise((resolve) => server.close(resolve)));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return (await findFault(issuer)).replaceAll(issuer, "ISSUER");
}

async function findFault(issuer: string): Promise<string> {
  const config = issuerSchema.parse({ issuer, audience: "marina" });
  const stop = new AbortController();
  return new Promise((resolve) => {
    const reading = createIssuerKeys(config).load(stop.signal, (error) => {
      stop.abort();
      resolve(explainIssuerFault(config, error));
    });
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
])("%s instead of keys is told in one sentence that says what to check", async (_, status, body, reason) => {
  expect(await readFault(status, body)).toBe(
    `The keys of the issuer ISSUER cannot be read (${reason}), so that nobody can sign in with it: check MARINA_OIDC_ISSUERS and that this program can reach ISSUER/.well-known/openid-configuration.`,
  );
});

test("an address without a server is told by the code of the network", async () => {
  const fault = await findFault(`http://127.0.0.1:${await findFreePort()}`);
  expect(fault).toContain("cannot be read (ECONNREFUSED), so");
});
