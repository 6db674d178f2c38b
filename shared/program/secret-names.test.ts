import { expect, test } from "vitest";
import { isSecretName } from "./log.ts";

test.each([
  ["authorization", true],
  ["Authorization", true],
  ["access_token", true],
  ["accessToken", true],
  ["cookie", true],
  ["kubeconfig", true],
  ["privateKey", true],
  ["private_key", true],
  ["secret_hash", true],
  ["webhook_secret", true],
  ["token_prefix", false],
  ["authorized_cidrs", false],
  ["key", false],
])("%s is a secret name: %s", (name, isSecret) => {
  expect(isSecretName(name)).toBe(isSecret);
});
