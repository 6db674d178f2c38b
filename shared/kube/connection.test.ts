import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { loadConnection } from "./connection.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "kubeconfig-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

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

/** The connection of a kubeconfig file with this text. */
async function load(text: string) {
  const file = path.join(directory, "config");
  await writeFile(file, text);
  return loadConnection(file);
}

test("server, TLS settings and proxy are taken from the current context", async () => {
  const user = { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") };
  const cluster = {
    "certificate-authority-data": base64("CA"),
    "tls-server-name": "api.example",
    "insecure-skip-tls-verify": true,
    "proxy-url": "http://proxy:3128",
  };
  expect(await load(kubeconfig(user, cluster))).toEqual({
    server: "https://host:6443",
    ca: "CA",
    cert: "CERT",
    key: "KEY",
    tlsServerName: "api.example",
    insecureSkipTlsVerify: true,
    proxyUrl: "http://proxy:3128",
  });
});

test("file names are relative to the kubeconfig's own directory", async () => {
  await writeFile(path.join(directory, "ca.crt"), "CA");
  expect((await load(kubeconfig({}, { "certificate-authority": "ca.crt" }))).ca).toBe("CA");
});

test("a token file is read again for fresh credentials", async () => {
  await writeFile(path.join(directory, "token"), "one\n");
  const { readHeaders } = await load(kubeconfig({ tokenFile: "token", token: "unused" }));
  expect(await readHeaders?.()).toEqual({ Authorization: "Bearer one" });
  await writeFile(path.join(directory, "token"), "two\n");
  expect(await readHeaders?.()).toEqual({ Authorization: "Bearer one" });
  expect(await readHeaders?.(true)).toEqual({ Authorization: "Bearer two" });
});

const plugin = (script: string) =>
  kubeconfig({
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "sh",
      args: ["-c", script],
      env: [{ name: "PREFIX", value: "t" }],
    },
  });

test("a credential plugin runs once, and again for fresh credentials", async () => {
  const counter = path.join(directory, "count");
  const script = `echo x >> ${counter}; echo "{\\"status\\":{\\"token\\":\\"$PREFIX$(wc -l < ${counter} | tr -d ' ')\\"}}"`;
  const { readHeaders } = await load(plugin(script));
  const first = { Authorization: "Bearer t1" };
  expect(await Promise.all([readHeaders?.(), readHeaders?.()])).toEqual([first, first]);
  expect(await readHeaders?.()).toEqual(first);
  expect(await readHeaders?.(true)).toEqual({ Authorization: "Bearer t2" });
});

test("a credential plugin receives its protocol version", async () => {
  const script = `echo '{"status":{"token":"t"}}'; echo "$KUBERNETES_EXEC_INFO" > ${path.join(directory, "info")}`;
  const { readHeaders } = await load(plugin(script));
  await readHeaders?.();
  const info = JSON.parse(await readFile(path.join(directory, "info"), "utf8"));
  expect(info).toMatchObject({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential" });
});

test("a credential plugin that returns no token is an error", async () => {
  const { readHeaders } = await load(plugin(`echo '{"status":{}}'`));
  await expect(readHeaders?.()).rejects.toThrow('user "u" returned no token');
});

test.each([
  {
    what: "no such context",
    text: kubeconfig({}).replace("current-context: main", "current-context: gone"),
    message: 'no context "gone"',
  },
  { what: "no server", text: kubeconfig({}, { server: "" }), message: "server" },
  { what: "a server that is not a URL", text: kubeconfig({}, { server: "host" }), message: '"host"' },
  {
    what: "no such user",
    text: kubeconfig({}).replace("user: u", "user: gone"),
    message: 'no user "gone"',
  },
  { what: "no YAML object", text: "nonsense", message: "no context" },
])("a kubeconfig with $what is rejected with the reason", async ({ text, message }) => {
  await expect(load(text)).rejects.toThrow(message);
});

test("a missing kubeconfig is named", () => {
  expect(() => loadConnection(path.join(directory, "none"))).toThrow(path.join(directory, "none"));
});

test("without a kubeconfig and outside a Pod the error names both", () => {
  vi.stubEnv("KUBERNETES_SERVICE_HOST", undefined);
  expect(() => loadConnection(undefined)).toThrow("no kubeconfig is given and the ServiceAccount");
});

test("in a Pod the address comes from its environment", () => {
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
  // No ServiceAccount is mounted here: the error shows that the address was accepted.
  expect(() => loadConnection("")).toThrow("/var/run/secrets/kubernetes.io/serviceaccount");
});
