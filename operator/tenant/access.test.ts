import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { enqueueTo } from "../caches.ts";
import { LABEL_CAPI_CLUSTER } from "../capi/kinds.ts";
import type { AccessSecret } from "../capi/secrets.ts";
import { anCapiCluster } from "../cluster/testing.ts";
import { findWoken, type Watch } from "../testing-changes.ts";
import { enqueueByTenantAccess, findAccessSource, parseKubeconfig } from "./access.ts";

const toBase64 = (text: string) => Buffer.from(text).toString("base64");

function kubeconfig(
  user: object,
  cluster: object = { "certificate-authority-data": toBase64("CA") },
): string {
  return stringify({
    "current-context": "demo",
    clusters: [{ name: "demo", cluster: { server: "https://api.test", ...cluster } }],
    users: [
      { name: "other", user: { token: "other" } },
      { name: "admin", user },
    ],
    contexts: [{ name: "demo", context: { cluster: "demo", user: "admin" } }],
  });
}

const pair = { "client-certificate-data": toBase64("CERT"), "client-key-data": toBase64("KEY") };

test.each([
  ["a client certificate", pair, { cert: "CERT", key: "KEY" }],
  ["a token", { token: "abc.def" }, { token: "abc.def" }],
  ["both", { ...pair, token: "abc" }, { cert: "CERT", key: "KEY" }],
])("Cluster API's kubeconfig with %s is read", (_name, user, credential) => {
  expect(parseKubeconfig(kubeconfig(user))).toEqual({ ca: "CA", credential });
});

test.each([
  ["a program", { exec: { command: "/bin/sh" } }],
  ["a file of a token", { tokenFile: "/var/run/secrets/token" }],
  ["files of a certificate", { "client-certificate": "/a", "client-key": "/b" }],
  ["a certificate without its key", { "client-certificate-data": toBase64("CERT") }],
  ["a token of two lines", { token: "abc\r\nx: y" }],
])("a kubeconfig that needs %s is refused", (_name, user) => {
  expect(() => parseKubeconfig(kubeconfig(user))).toThrow(Error);
});

test.each([
  ["without a CA", kubeconfig(pair, {})],
  ["whose CA is a file", kubeconfig(pair, { "certificate-authority": "/etc/ca.crt" })],
  ["without its context", kubeconfig(pair).replace("current-context: demo", "current-context: gone")],
  ["that is no YAML", "{"],
  ["that is empty", ""],
])("a kubeconfig %s is refused", (_name, text) => {
  expect(() => parseKubeconfig(text)).toThrow(Error);
});

describe("the access source of a cluster", () => {
  /** With a CA of this name and "!" that has no key. */
  const find = (...names: string[]) => {
    const secrets = new Map(
      names.map((text): [string, AccessSecret] => {
        const name = text.replace("!", "");
        const metadata = { name, uid: name, resourceVersion: "1" };
        const secret = { apiVersion: "v1", kind: "Secret", metadata };
        return [`org/${name}`, text === name ? secret : { ...secret, lacksKey: true }];
      }),
    );
    return findAccessSource({ clusterSecrets: secrets }, "org/demo");
  };

  test.each([
    [["demo-ca"], { kind: "ca", revision: "demo-ca/1" }],
    [["demo-ca", "demo-kubeconfig"], { kind: "ca", revision: "demo-ca/1" }],
    [["demo-kubeconfig"], { kind: "kubeconfig", revision: "demo-kubeconfig/1" }],
    [["demo-ca", "demo-cca", "demo-kubeconfig"], { kind: "kubeconfig", revision: "demo-kubeconfig/1" }],
    [["demo-ca", "demo-cca"], undefined],
    [["demo-ca!", "demo-kubeconfig"], { kind: "kubeconfig", revision: "demo-kubeconfig/1" }],
    [["demo-ca!"], { kind: "ca", revision: "demo-ca/1" }],
    [["demo-user-kubeconfig", "other-ca"], undefined],
  ])("with the Secrets %o is %o", (names, source) => {
    expect(find(...names)).toEqual(source);
  });
});

describe("a cluster is looked at after a change of", () => {
  const watch: Watch = (cacheSet, controller) => enqueueByTenantAccess(cacheSet, enqueueTo(controller));

  test.each([
    ["its CA", "demo-ca", [], ["org/demo"]],
    ["the kubeconfig by which it is reached", "demo-kubeconfig", [], ["org/demo"]],
    ["no kubeconfig beside a CA", "demo-kubeconfig", ["org/demo-ca"], []],
  ])("%s", (_, name, present, keys) => {
    const metadata = { name, namespace: "org", labels: { [LABEL_CAPI_CLUSTER]: "demo" } };
    const object: AccessSecret = { apiVersion: "v1", kind: "Secret", metadata };
    const clusterSecrets = new Map(present.map((key) => [key, object]));
    const caches = { clusterSecrets } as object;
    expect(findWoken(watch, caches, "clusterSecrets", { object })).toEqual(keys);
  });

  test("the endpoint of its tenant's API server, not after one without another endpoint", () => {
    const object = anCapiCluster();
    const moved = {
      ...object,
      spec: { ...object.spec, controlPlaneEndpoint: { host: "b.test", port: 6443 } },
    };
    expect(findWoken(watch, {}, "capiClusters", { previous: object, object: moved })).toHaveLength(1);
    expect(findWoken(watch, {}, "capiClusters", { previous: object, object })).toEqual([]);
  });
});
