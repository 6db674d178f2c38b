import { expect, test } from "vitest";
import type { ManagedFieldsEntry } from "../../shared/kube/kind.ts";
import { trimAccessSecret } from "./secrets.ts";

/** A manager that has set these keys of a Secret's data. */
const wrote = (...keys: string[]): ManagedFieldsEntry => ({
  manager: "provider",
  operation: "Update",
  fieldsV1: {
    "f:data": { ".": {}, ...Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
    "f:type": {},
  },
});

test.each<[string, ManagedFieldsEntry[] | undefined, true | undefined]>([
  ["with its key has it", [wrote("tls.crt", "tls.key")], undefined],
  ["whose key somebody else added has it", [wrote("tls.crt"), wrote("tls.key")], undefined],
  ["without its key lacks it", [wrote("tls.crt")], true],
  ["of which nothing is recorded is taken to have it", undefined, undefined],
  [
    "whose metadata alone was written is taken to have it",
    [{ manager: "x", operation: "Update" }],
    undefined,
  ],
])("a CA %s", (_name, managedFields, lacksKey) => {
  const metadata = { name: "demo-ca", namespace: "org", ...(managedFields && { managedFields }) };
  const trimmed = trimAccessSecret({ apiVersion: "v1", kind: "Secret", metadata });
  expect(trimmed?.lacksKey).toBe(lacksKey);
  expect(trimmed?.metadata).toEqual({ name: "demo-ca", namespace: "org" });
});

test("of a Secret that is neither a CA nor a kubeconfig nothing is kept", () => {
  const metadata = { name: "demo-etcd", namespace: "org" };
  expect(trimAccessSecret({ apiVersion: "v1", kind: "Secret", metadata })).toBeUndefined();
});
