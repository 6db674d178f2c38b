import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ConfigMap, Secret } from "../../../shared/kube/core-kinds.ts";
import type { Sources } from "./environment.ts";
import type { Pod, Volume } from "./kinds.ts";
import { refreshTime } from "./tokens.ts";
import { composeVolume, writeVolume } from "./volumes.ts";

const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web-1", namespace: "shop" },
  spec: { containers: [] },
};
const secret = { data: { a: Buffer.from("1").toString("base64") } } as unknown as Secret;
const configMap = { data: { "ca.crt": "PEM" }, binaryData: { b: "AA==" } } as unknown as ConfigMap;
const sources: Sources = {
  secret: (name) => (name === "s" ? secret : undefined),
  configMap: (name) => (name === "c" ? configMap : undefined),
};

function compose(volume: Omit<Volume, "name">): Record<string, string> {
  const files = composeVolume(
    { name: "v", ...volume },
    { pod, podIP: "10.9.2.1", sources, tokenOf: ({ path }) => `token for ${path}` },
  );
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [path, content.toString()]));
}

describe("a volume holds", () => {
  test.each<[string, Omit<Volume, "name">, Record<string, string>]>([
    ["the keys of a Secret", { secret: { secretName: "s" } }, { a: "1" }],
    ["the keys of a ConfigMap", { configMap: { name: "c" } }, { "ca.crt": "PEM", b: "\0" }],
    [
      "chosen keys at other paths",
      { configMap: { name: "c", items: [{ key: "ca.crt", path: "x/y.pem" }] } },
      { "x/y.pem": "PEM" },
    ],
    ["nothing of an optional Secret that is missing", { secret: { secretName: "z", optional: true } }, {}],
    [
      "a token, a ConfigMap and a field together, as Kubernetes gives it to every Pod",
      {
        projected: {
          sources: [
            { serviceAccountToken: { path: "token" } },
            { configMap: { name: "c", items: [{ key: "ca.crt", path: "ca.crt" }] } },
            {
              downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] },
            },
          ],
        },
      },
      { token: "token for token", "ca.crt": "PEM", namespace: "shop" },
    ],
  ])("%s", (_, volume, expected) => {
    expect(compose(volume)).toEqual(expected);
  });

  test.each<[string, Omit<Volume, "name">, string]>([
    ["a Secret that is missing", { secret: { secretName: "z" } }, 'secret "z" not found'],
    [
      "a key that is missing",
      { configMap: { name: "c", items: [{ key: "z", path: "z" }] } },
      'configmap "c" has no key "z"',
    ],
    ["another kind of volume", {}, "the kind of the volume v is not supported"],
  ])("nothing while it names %s", (_, volume, message) => {
    expect(() => compose(volume)).toThrow(message);
  });
});

describe("the folder of a volume", () => {
  const folder = mkdtempSync(join(tmpdir(), "marina-volume-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const write = (files: Record<string, string>): void =>
    writeVolume(
      folder,
      Object.fromEntries(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
      owner,
    );
  const read = (path: string): string => readFileSync(join(folder, path), "utf8");
  const shown = (): string[] => readdirSync(folder).filter((name) => !name.startsWith(".."));

  test("follows its files: changed, added and removed ones", () => {
    write({ token: "1", "x/y": "2" });
    expect([shown(), read("token"), read("x/y")]).toEqual([["token", "x"], "1", "2"]);
    const link = lstatSync(join(folder, "token")).ino;
    write({ token: "3", more: "4" });
    expect([shown(), read("token"), read("more")]).toEqual([["more", "token"], "3", "4"]);
    // What stays is never away for a moment.
    expect(lstatSync(join(folder, "token")).ino).toBe(link);
  });

  test("is left alone while they are the same", () => {
    write({ token: "3", more: "4" });
    const before = readdirSync(folder);
    write({ token: "3", more: "4" });
    expect(readdirSync(folder)).toEqual(before);
  });
});

test("a token is replaced after four fifths of its life, or after a time of the configuration", () => {
  expect(refreshTime(0, 3600, undefined)).toBe(2_880_000);
  expect(refreshTime(0, 3600, 15)).toBe(15_000);
});
