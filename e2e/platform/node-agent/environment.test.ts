import { describe, expect, test } from "vitest";
import type { ConfigMap, Secret } from "../../../shared/kube/core-kinds.ts";
import {
  ContainerConfigError,
  composeEnvironment,
  composeServiceVariables,
  expand,
  readField,
  type Sources,
} from "./environment.ts";
import type { Container, Pod } from "./kinds.ts";

const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web-1", namespace: "shop", uid: "u1", labels: { tier: "front" } },
  spec: { nodeName: "node-a", serviceAccountName: "web", containers: [] },
};
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const secret = { data: { url: base64("postgres://x"), key: base64("k") } } as unknown as Secret;
const configMap = { data: { color: "blue" } } as unknown as ConfigMap;
const sources: Sources = {
  secret: (name) => (name === "database" ? secret : undefined),
  configMap: (name) => (name === "look" ? configMap : undefined),
};

function compose(container: Pick<Container, "env" | "envFrom">, given = {}): Record<string, string> {
  return composeEnvironment({ pod, podIP: "10.9.2.1", container, sources, given });
}

describe("a variable has the value of its source", () => {
  test.each<[string, Container["env"], Record<string, string>]>([
    ["a text", [{ name: "A", value: "1" }], { A: "1" }],
    ["nothing", [{ name: "A" }], { A: "" }],
    [
      "an earlier variable in a text",
      [
        { name: "A", value: "1" },
        { name: "B", value: "$(A)2" },
      ],
      { A: "1", B: "12" },
    ],
    [
      "a key of a Secret",
      [{ name: "A", valueFrom: { secretKeyRef: { name: "database", key: "url" } } }],
      { A: "postgres://x" },
    ],
    [
      "a key of a ConfigMap",
      [{ name: "A", valueFrom: { configMapKeyRef: { name: "look", key: "color" } } }],
      { A: "blue" },
    ],
    [
      "a field of the Pod",
      [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } }],
      { A: "shop" },
    ],
    [
      "an optional key that is missing: none",
      [{ name: "A", valueFrom: { secretKeyRef: { name: "absent", key: "x", optional: true } } }],
      {},
    ],
  ])("%s", (_, env, expected) => {
    expect(compose(env === undefined ? {} : { env })).toEqual(expected);
  });

  test("every key of a Secret or ConfigMap, with a prefix, before the variables of the container", () => {
    const envFrom = [{ secretRef: { name: "database" } }, { prefix: "P_", configMapRef: { name: "look" } }];
    const env = [{ name: "key", value: "own" }];
    expect(compose({ env, envFrom }, { GIVEN: "1", url: "given" })).toEqual({
      GIVEN: "1",
      url: "postgres://x",
      key: "own",
      P_color: "blue",
    });
  });
});

describe("a container waits for what is missing, in the words of kubelet", () => {
  test.each<[string, Container["env"], string]>([
    [
      "a Secret",
      [{ name: "A", valueFrom: { secretKeyRef: { name: "absent", key: "x" } } }],
      'secret "absent" not found',
    ],
    [
      "a key of a Secret",
      [{ name: "A", valueFrom: { secretKeyRef: { name: "database", key: "x" } } }],
      'couldn\'t find key x in secret "database"',
    ],
    [
      "a ConfigMap",
      [{ name: "A", valueFrom: { configMapKeyRef: { name: "absent", key: "x" } } }],
      'configmap "absent" not found',
    ],
    [
      "a source that the agent does not know",
      [{ name: "A", valueFrom: {} }],
      "the source of the variable A is not supported",
    ],
  ])("%s", (_, env = [], message) => {
    expect(() => compose({ env })).toThrow(new ContainerConfigError(message));
  });
});

test.each([
  ["$(A)", "1"],
  ["$(B)", "$(B)"],
  ["$$(A)", "$(A)"],
  ["$A", "$A"],
  ["x$(A)$(A)y", "x11y"],
])("%s is expanded to %s", (text, expected) => {
  expect(expand(text, { A: "1" })).toBe(expected);
});

test.each([
  ["metadata.name", "web-1"],
  ["metadata.labels['tier']", "front"],
  ["metadata.annotations['none']", ""],
  ["status.podIP", "10.9.2.1"],
  ["spec.nodeName", "node-a"],
])("the field %s is %s", (path, expected) => {
  expect(readField(pod, "10.9.2.1", path)).toBe(expected);
});

test("Services of the namespace are variables, headless ones are not", () => {
  const service = (name: string, clusterIP: string) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { clusterIP, ports: [{ name: "http", port: 80 }] },
  });
  expect(composeServiceVariables([service("marina-api", "10.0.0.7"), service("headless", "None")])).toEqual({
    MARINA_API_SERVICE_HOST: "10.0.0.7",
    MARINA_API_SERVICE_PORT: "80",
    MARINA_API_SERVICE_PORT_HTTP: "80",
    MARINA_API_PORT: "tcp://10.0.0.7:80",
  });
});
