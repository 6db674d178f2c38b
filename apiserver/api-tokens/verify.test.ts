import { expect, test } from "vitest";
import type { Deps } from "../deps.ts";
import { mintToken } from "./secret.ts";
import { createApiTokenVerifier } from "./verify.ts";

const ID = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
/** A database that fails on any query. */
const db = new Proxy({} as Deps["db"], {
  get() {
    throw new Error("the database was queried");
  },
});
const tokens = createApiTokenVerifier({ db, rightsDb: db, now: () => new Date() });

test("a typo in an API token is refused without a look into the database", async () => {
  const { text } = mintToken(ID);
  const typo = text.slice(0, 40) + (text[40] === "x" ? "y" : "x") + text.slice(41);
  expect(await tokens.verify(typo)).toBeUndefined();
  expect(await tokens.verify("mar_")).toBeUndefined();
});

test("one without a typo is looked up, each time", async () => {
  const { text } = mintToken(ID);
  await expect(tokens.verify(text)).rejects.toThrow("the database was queried");
  await expect(tokens.verify(text)).rejects.toThrow("the database was queried");
});

test.each([
  ["mar_abc", true],
  ["eyJhbGciOiJFUzI1NiJ9.e30.c2ln", false],
])("%s means to be an API token: %s", (text, means) => {
  expect(tokens.isApiToken(text)).toBe(means);
});
