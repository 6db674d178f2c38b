import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { createAuthenticator } from "./authenticator.ts";
import { issuerSchema } from "./issuer-config.ts";

const CALLS = 20_000;
const ROUNDS = 5;
const SUBJECT = "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01";

/**
 * CPU of one verification of a bearer token: of one that was verified a moment ago, and of one that is new. Prints
 * one line of JSON in microseconds; `npm run bench api` reads it.
 */
async function main(): Promise<void> {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "1", alg: "RS256" }] });
  const server = createServer((_, response) => response.end(keys)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const authenticator = createAuthenticator({
    issuers: [
      {
        ...issuerSchema.parse({ issuer, audience: "bench", jwksUrl: issuer, admin: true, trustEmail: true }),
        uuidSubjects: true,
      },
    ],
    bindUser: async (user) => user.issuer,
    log: { warn: () => undefined },
    apiTokens: {
      isApiToken: (text) => text.startsWith("mar_"),
      isWellFormed: () => false,
      verify: async () => undefined,
    },
  });
  const sign = (id: number) =>
    new SignJWT({ email: "alice@example.com", email_verified: true, jti: String(id) })
      .setProtectedHeader({ alg: "RS256", kid: "1", typ: "JWT" })
      .setIssuer(issuer)
      .setAudience("bench")
      .setSubject(SUBJECT)
      .setExpirationTime("1h")
      .sign(privateKey);
  const header = `Bearer ${await sign(0)}`;
  await authenticator.authenticate(header);
  const cached: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    cached.push(await measureMicroseconds(CALLS, () => authenticator.authenticate(header)));
  }
  const fresh = await Promise.all(Array.from({ length: 500 }, (_, id) => sign(id + 1)));
  const first = await measureMicroseconds(fresh.length, () =>
    authenticator.authenticate(`Bearer ${fresh.pop()}`),
  );
  server.close();
  process.stdout.write(`${JSON.stringify({ cached: Math.min(...cached), first })}\n`);
}

async function measureMicroseconds(calls: number, call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let n = 0; n < calls; n++) await call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

await main();
