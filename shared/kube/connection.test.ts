import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stringify } from "yaml";
import { loadConnection, parseKubeconfig } from "./connection.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "kubeconfig-"));
});
afterEach(() => rm(directory, { recursive: true }));

const base64 = (text: string) => Buffer.from(text).toString("base64");
const kubeconfig = (user: object, cluster: object = {}) =>
  stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "main",
    clusters: [
      { name: "other", cluster: { server: "https://other" } },
      { name: "c", cluster: { server: "https://host:6443/", ...cluster } },
    ],
    contexts: [{ name: "main", context: { cluster: "c", user: "u", namespace: "n" } }],
    users: [{ name: "u", user }],
  });

test("certificates are taken from the kubeconfig itself", () => {
  const user = { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") };
  expect(parseKubeconfig(kubeconfig(user, { "certificate-authority-data": base64("CA") }))).toMatchObject({
    server: "https://host:6443",
    ca: "CA",
    cert: "CERT",
    key: "KEY",
  });
});

test("file names are taken from the kubeconfig's own directory", async () => {
  await writeFile(path.join(directory, "ca.crt"), "CA");
  await writeFile(path.join(directory, "config"), kubeconfig({}, { "certificate-authority": "ca.crt" }));
  expect(loadConnection(path.join(directory, "config")).ca).toBe("CA");
});

test("a token file is read again when a fresh token is wanted", async () => {
  const file = path.join(directory, "token");
  await writeFile(file, "one\n");
  const { token } = parseKubeconfig(kubeconfig({ tokenFile: file }));
  expect(await token?.()).toBe("one");
  await writeFile(file, "two\n");
  expect(await token?.()).toBe("one");
  expect(await token?.(true)).toBe("two");
});

test("a credential plugin is asked once, and again for a fresh token", async () => {
  const counter = path.join(directory, "count");
  const script = `echo x >> ${counter}; echo "{\\"status\\":{\\"token\\":\\"$PREFIX$(wc -l < ${counter} | tr -d ' ')\\"}}"`;
  const { token } = parseKubeconfig(
    kubeconfig({
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "sh",
        args: ["-c", script],
        env: [{ name: "PREFIX", value: "t" }],
      },
    }),
  );
  expect(await token?.()).toBe("t1");
  expect(await token?.()).toBe("t1");
  expect(await token?.(true)).toBe("t2");
});

test.each([
  {
    what: "no such context",
    text: kubeconfig({}).replace("current-context: main", "current-context: gone"),
    says: 'no context "gone"',
  },
  { what: "no server", text: kubeconfig({}, { server: "" }), says: "server" },
  {
    what: "an auth provider",
    text: kubeconfig({ "auth-provider": { name: "x" } }),
    says: "auth-provider is not supported",
  },
  { what: "a proxy", text: kubeconfig({}, { "proxy-url": "http://p" }), says: "proxy-url is not supported" },
  { what: "no YAML object", text: "nonsense", says: "expected object" },
])("a kubeconfig with $what is refused by name", ({ text, says }) => {
  expect(() => parseKubeconfig(text)).toThrow(says);
});

test("a kubeconfig that is not there is named", () => {
  expect(() => loadConnection(path.join(directory, "none"))).toThrow(path.join(directory, "none"));
});
