import { describe, expect, test } from "vitest";
import { mintToken } from "../api-tokens/secret.ts";
import { redact } from "./record.ts";

describe("an audit row never holds", () => {
  test.each([
    ["secret"],
    ["webhook_secret"],
    ["token"],
    ["access_token"],
    ["kubeconfig"],
    ["secret_hash"],
    ["private_key"],
  ])("a field named %s", (name) => {
    expect(redact({ [name]: "anything" })).toEqual({ [name]: "[redacted]" });
  });

  test.each([
    ["an API token", mintToken("0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11").text],
    ["a signing secret", `whsec_${"0a".repeat(32)}`],
    ["a private key", "-----BEGIN EC PRIVATE KEY-----\nabc"],
    ["a JSON Web Token", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"],
    ["a JSON Web Token behind a hyphen", "x-eyJh-eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"],
    ["a kubeconfig with a key", "users:\n- user:\n    client-key-data: abc"],
  ])("%s, wherever it is", (_what, value) => {
    expect(JSON.stringify(redact({ name: value, list: [{ note: `see ${value}` }] }))).not.toContain(value);
  });
});

test("a long text of beginnings of tokens is read once, and stays as it is", () => {
  const fields = {
    headers: "eyJ-".repeat(100_000),
    payload: `${"eyJ-".repeat(50_000)}.${"b".repeat(200_000)}`,
  };
  expect(redact(fields)).toEqual(fields);
});

test("everything else stays as it is", () => {
  const fields = {
    name: "deploy",
    token_prefix: "mar_02xkXLtYcRgMjnRpT3m9wV",
    scopes: ["clusters:write"],
    min_nodes: 0,
    vat_id: null,
    secret: null,
    nested: { authorized_cidrs: ["192.0.2.0/24"] },
  };
  expect(redact(fields)).toEqual(fields);
  expect(redact(null)).toBeNull();
});
