import { expect, test } from "vitest";
import { loopbackOfPod, loopbackOfService, podAddressOf } from "./addresses.ts";
import type { EndpointSlice } from "./kinds.ts";
import { composeHosts } from "./pod-container.ts";
import { findFreeNumber } from "./pods.ts";
import { selectEndpoints } from "./proxy.ts";

test("each Pod has an address of its own, which is no loopback address for Kubernetes and one for programs", () => {
  const addresses = Array.from({ length: 1000 }, (_, number) => podAddressOf(7, number));
  expect(new Set(addresses).size).toBe(1000);
  expect(addresses[0]).toBe("10.7.2.1");
  expect(addresses[250]).toBe("10.7.3.1");
  expect(loopbackOfPod("10.7.2.1")).toBe("127.7.2.1");
  expect(addresses.map(loopbackOfPod)).not.toContain(loopbackOfService(7, "10.0.0.1"));
});

test("an address that is free again is used again", () => {
  const taken = new Set([0, 1, 3].map((number) => podAddressOf(7, number)));
  expect(findFreeNumber(7, taken)).toBe(2);
});

function slice(...endpoints: NonNullable<EndpointSlice["endpoints"]>): EndpointSlice {
  const ports = [
    { name: "http", port: 8080 },
    { name: "metrics", port: 8081 },
  ];
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "s" },
    endpoints,
    ports,
  };
}
const ready = { addresses: ["10.7.2.1"], conditions: { ready: true, serving: true } };
const starting = { addresses: ["10.7.2.2"], conditions: { ready: false, serving: false } };
const terminating = {
  addresses: ["10.7.2.3"],
  conditions: { ready: false, serving: true, terminating: true },
};

test.each<[string, EndpointSlice[], string, string[]]>([
  ["ready endpoints", [slice(ready, starting, terminating)], "http", ["127.7.2.1:8080"]],
  ["by the name of the port", [slice(ready)], "metrics", ["127.7.2.1:8081"]],
  ["of all slices", [slice(ready), slice(ready)], "http", ["127.7.2.1:8080", "127.7.2.1:8080"]],
  [
    "those that are terminated but serve, without a ready one",
    [slice(terminating)],
    "http",
    ["127.7.2.3:8080"],
  ],
  ["none while one is starting", [slice(starting)], "http", []],
  ["none for a port that there is not", [slice(ready)], "other", []],
])("connections go to %s", (_, slices, port, expected) => {
  expect(selectEndpoints(slices, port).map(({ host, port: number }) => `${host}:${number}`)).toEqual(
    expected,
  );
});

test("the name of a Service leads to its address on this machine, that of a headless one to its ready Pods", () => {
  const service = (name: string, clusterIP: string) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "shop" },
    spec: { clusterIP, ports: [{ name: "http", port: 80 }] },
  });
  const services = [service("web", "10.0.0.9"), service("pods", "None")];
  expect(composeHosts(7, services, () => [slice(ready, starting)])).toBe(
    "127.0.0.1 localhost\n127.7.1.9 web web.shop web.shop.svc\n127.7.2.1 pods pods.shop pods.shop.svc\n",
  );
});
