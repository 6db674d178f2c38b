import { expect, test } from "vitest";
import { findLeftovers } from "./leftovers.ts";

const service = (type: string | undefined) => ({
  metadata: { name: "web", namespace: "shop" },
  spec: { type },
});
const volume = (policy: string, phase?: string) => ({
  metadata: { name: "data" },
  spec: { persistentVolumeReclaimPolicy: policy },
  ...(phase === undefined ? {} : { status: { phase } }),
});

const SERVICE = { kind: "Service", namespace: "shop", name: "web" };
const VOLUME = { kind: "PersistentVolume", namespace: null, name: "data" };

test.each([
  ["a Service with a load balancer stays", [service("LoadBalancer")], [], [SERVICE]],
  ["a Service without one does not", [service("ClusterIP"), service("NodePort"), service(undefined)], [], []],
  ["a volume that is kept stays, in use or not", [], [volume("Retain", "Released")], [VOLUME]],
  ["a volume that is kept stays before it has a status", [], [volume("Retain")], [VOLUME]],
  [
    "a volume in use stays, also one that is deleted with its claim",
    [],
    [volume("Delete", "Bound")],
    [VOLUME],
  ],
  ["a volume that nobody uses does not", [], [volume("Delete", "Available"), volume("Recycle")], []],
])("%s", (_name, services, volumes, expected) => {
  expect(findLeftovers(services, volumes)).toEqual(expected);
});

test("more objects than are listed are unknown, with their number, and not a part of them", () => {
  const services = Array.from({ length: 1001 }, () => service("LoadBalancer"));
  expect(findLeftovers(services.slice(1), [])).toHaveLength(1000);
  expect(findLeftovers(services, [])).toEqual({ unknown: expect.stringContaining("1001") });
});
