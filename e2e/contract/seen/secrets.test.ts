import { expect, test } from "vitest";
import { findLeaks, findSecrets } from "./secrets.ts";

const JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg";
const TOKEN = `mar_${"a1".repeat(35)}b`;

test.each([
  ["a JSON Web Token", `Bearer ${JWT}`, "c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"],
  ["an API token", `{"token":"${TOKEN}"}`, TOKEN],
  ["the key of a kubeconfig", "client-key-data: LS0tLS1CRUdJTiBSU0Eg+short=\n", "LS0tLS1CRUdJTiBSU0Eg"],
  ["the password in an address", "postgres://marina:0123456789abcdef01@db/x", "0123456789abcdef01"],
])("%s is found, and its trace in a log", (_what, text, word) => {
  expect(findSecrets(text)).toEqual([word]);
  const log = `{"msg":"hello"}\n{"msg":"sent ${text.replaceAll('"', "'")}"}`;
  expect(findLeaks(log, new Set([word]))).toEqual([log.split("\n")[1]]);
});

test("ids are not secrets", () => {
  expect(findSecrets('{"id":"0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11","token_prefix":"mar_0123"}')).toEqual([]);
  const url =
    '{"issuer":"http://127.0.0.1:4567","id":"0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11","email":"a@b.test"}';
  expect(findSecrets(url)).toEqual([]);
});
