import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTestIssuer, type TestIssuer } from "../../testing/issuer.ts";
import { createAuthenticator } from "./authenticator.ts";
import type { UserPrincipal } from "./principal.ts";

const MINUTE_MS = 60_000;
let issuer: TestIssuer;
beforeEach(async () => {
  issuer = await startTestIssuer();
});
afterEach(() => issuer.close());

/** An authenticator on a clock that the test moves. */
function authenticator(issuers = [issuer.config]) {
  let nowMs = Date.now();
  const warnings: string[] = [];
  const instance = createAuthenticator({
    issuers,
    bindUser: async (user: UserPrincipal) => user.issuer,
    apiTokens: { isApiToken: () => false, isWellFormed: () => false, verify: async () => undefined },
    log: { warn: (sentence: string) => void warnings.push(sentence) },
    nowMs: () => nowMs,
  });
  const statusFor = async (token: string) => {
    try {
      await instance.authenticate(`Bearer ${token}`);
      return 200;
    } catch (error) {
      return (error as { status: number }).status;
    }
  };
  return {
    statusFor,
    warnings,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("the keys of an issuer", () => {
  test("a new one is accepted without a restart, after the cool-down", async () => {
    const { statusFor, pass } = authenticator();
    const person = await issuer.createPerson();
    expect(await statusFor(person.token)).toBe(200);
    await issuer.rotateKey({ keepOld: true });
    pass(31_000);
    expect(await statusFor(await issuer.sign(person))).toBe(200);
    expect(issuer.countReads()).toBe(2);
  });

  test("are read at most once per cool-down, however many unknown keys are presented", async () => {
    const { statusFor, pass } = authenticator();
    const person = await issuer.createPerson();
    await statusFor(person.token);
    pass(31_000);
    const forged = await Promise.all(
      Array.from({ length: 20 }, (_, index) => issuer.sign(person, { header: { kid: `unknown-${index}` } })),
    );
    const statuses = await Promise.all(forged.slice(10).map(statusFor));
    for (const token of forged.slice(0, 10)) statuses.push(await statusFor(token));
    expect(statuses).toEqual(forged.map(() => 401));
    expect(issuer.countReads()).toBe(2);
  });

  test("stay valid while the issuer does not respond, however long", async () => {
    const { statusFor, pass } = authenticator();
    const person = await issuer.createPerson();
    expect(await statusFor(person.token)).toBe(200);
    issuer.setStatus(503);
    for (const minutes of [2, 15, 20]) {
      pass(minutes * MINUTE_MS);
      const token = await issuer.sign(person, { claims: { exp: Math.floor(Date.now() / 1000) + 86_400 } });
      expect(await statusFor(token)).toBe(200);
    }
  });

  test("that could not be read let no caller in: 503, never 200, and not one attempt per request", async () => {
    issuer.setStatus(500);
    const { statusFor } = authenticator();
    const person = await issuer.createPerson();
    const statuses = await Promise.all(Array.from({ length: 5 }, () => statusFor(person.token)));
    for (let attempt = 0; attempt < 5; attempt++) statuses.push(await statusFor(person.token));
    expect(statuses).toEqual(statuses.map(() => 503));
    expect(issuer.countReads()).toBe(1);
  });

  test("an unknown one is refused while the issuer does not respond", async () => {
    const { statusFor, pass } = authenticator();
    const person = await issuer.createPerson();
    await statusFor(person.token);
    issuer.setStatus(500);
    await issuer.rotateKey();
    pass(31_000);
    expect(await statusFor(await issuer.sign(person))).toBe(503);
  });

  test("of another algorithm are accepted like any other new one", async () => {
    const { statusFor, pass } = authenticator();
    const person = await issuer.createPerson();
    expect(await statusFor(person.token)).toBe(200);
    await issuer.rotateKey({ algorithm: "RS256" });
    pass(31_000);
    expect(await statusFor(await issuer.sign(person))).toBe(200);
  });

  test("are all withdrawn by a key set without any, with a warning", async () => {
    const { statusFor, pass, warnings } = authenticator();
    const person = await issuer.createPerson();
    expect(await statusFor(person.token)).toBe(200);
    issuer.publishNothing();
    pass(11 * MINUTE_MS);
    expect(await statusFor(await issuer.sign(person))).toBe(503);
    expect(warnings).toEqual([expect.stringContaining("has no key for")]);
  });

  test("that cannot be read any more are reported once, while those that are known stay valid", async () => {
    const { statusFor, pass, warnings } = authenticator();
    const person = await issuer.createPerson();
    expect(await statusFor(person.token)).toBe(200);
    issuer.setStatus(503);
    for (const _ of [1, 2]) {
      pass(11 * MINUTE_MS);
      expect(await statusFor(await issuer.sign(person))).toBe(200);
    }
    expect(warnings).toEqual(
      [1, 2].map(() => expect.stringMatching(/responded with 503\), so that only the keys that are known/)),
    );
  });

  test("a withdrawn one ends after ten minutes", async () => {
    const { statusFor, pass } = authenticator();
    const person = await issuer.createPerson();
    expect(await statusFor(person.token)).toBe(200);
    await issuer.rotateKey();
    pass(11 * MINUTE_MS);
    expect(await statusFor(person.token)).toBe(401);
  });
});

describe("the discovery document", () => {
  test.each([
    ["of this issuer is believed", (url: string) => ({ issuer: url, jwks_uri: `${url}/keys` }), 200],
    ["of another issuer is not", (url: string) => ({ issuer: `${url}/other`, jwks_uri: `${url}/keys` }), 503],
    ["without an issuer is not", (url: string) => ({ jwks_uri: `${url}/keys` }), 503],
    [
      "with keys over plain http is not",
      (url: string) => ({ issuer: url, jwks_uri: "http://192.0.2.1/" }),
      503,
    ],
  ])("%s", async (_what, describeIssuer, status) => {
    const server = createServer((request, response) => {
      if (request.url === "/keys") {
        void fetch(issuer.config.issuer).then(async (keys) => response.end(await keys.text()));
      } else response.end(JSON.stringify(describeIssuer(url)));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { jwksUrl: _, ...config } = issuer.config;
    const { statusFor } = authenticator([{ ...config, issuer: url }]);
    const person = await issuer.createPerson({ claims: { iss: url } });
    expect(await statusFor(person.token)).toBe(status);
    server.closeAllConnections();
    server.close();
  });
});

describe("several issuers", () => {
  test("each is believed with its own key alone", async () => {
    const second = await startTestIssuer();
    const { statusFor } = authenticator([issuer.config, second.config]);
    const [one, two] = [await issuer.createPerson(), await second.createPerson()];
    expect(await statusFor(one.token)).toBe(200);
    expect(await statusFor(two.token)).toBe(200);
    const forged = await second.sign(one, { claims: { iss: issuer.config.issuer } });
    expect(await statusFor(forged)).toBe(401);
    second.close();
  });

  test("one that is away does not keep the other's people out", async () => {
    const away = { ...issuer.config, issuer: "https://away.example", jwksUrl: "http://127.0.0.1:1/" };
    const { statusFor } = authenticator([away, issuer.config]);
    expect(await statusFor((await issuer.createPerson()).token)).toBe(200);
  });
});

test("a verified token is believed for at most 60 seconds, and never beyond its end", async () => {
  const { statusFor, pass } = authenticator();
  const person = await issuer.createPerson();
  const exp = Math.floor(Date.now() / 1000) + 45;
  const token = await issuer.sign(person, { claims: { exp } });
  expect(await statusFor(token)).toBe(200);
  pass(80_000);
  expect(await statusFor(token)).toBe(401);
});
