import { expect, test } from "vitest";
import type { ConfigMap, Secret } from "../../shared/kube/core-kinds.ts";
import { digestOf, trimToDigest } from "./copy.ts";

const metadata = {
  name: "cloud",
  namespace: "marina",
  uid: "uid",
  labels: { "cloud.marina.dev/add-on": "source" },
  annotations: { "kubectl.kubernetes.io/last-applied-configuration": '{"stringData":{"password":"hidden"}}' },
};
const secret = { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata, data: { password: "aGlkZGVu" } };
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: { archive: "aGlkZGVu" } };

test.each<[string, Secret | ConfigMap]>([
  ["Secret that kubectl applied", secret],
  ["ConfigMap with binary data", configMap],
])("of a %s the cache keeps what it is and a digest, nothing of its content", (_, object) => {
  const { annotations: _annotations, ...kept } = metadata;
  const trimmed = trimToDigest(object);
  expect(trimmed).toMatchObject({ apiVersion: "v1", kind: object.kind, metadata: kept });
  expect(JSON.stringify(trimmed)).not.toMatch(/hidden|aGlkZGVu/);
  expect(digestOf(trimmed)).toMatch(/^[\w:-]{8,}$/);
});

test("the digest of a Secret is another one with its content, and with its type", () => {
  const digests = [secret, { ...secret, data: { password: "b3RoZXI=" } }, { ...secret, type: "other" }].map(
    (one) => digestOf(trimToDigest(one)),
  );
  expect(new Set(digests).size).toBe(3);
});
