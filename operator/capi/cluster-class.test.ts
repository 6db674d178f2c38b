import { expect, test } from "vitest";
import { createStore } from "../../shared/kube/store.ts";
import { createClassReader } from "./cluster-class.ts";
import type { ClusterClass } from "./kinds.ts";

const aClass = (resourceVersion: string, variables: string[]): ClusterClass => ({
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "ClusterClass",
  metadata: { namespace: "marina", name: "standard-v1", resourceVersion },
  spec: { variables: variables.map((name) => ({ name })) },
});

test("what the classes can do is read once for each version of them, and is gone with the class", () => {
  const store = createStore<ClusterClass>();
  const read = createClassReader(store);
  const variablesOf = () => [...(read().get("marina/standard-v1")?.variables ?? [])];
  expect(read().size).toBe(0);
  store.set(aClass("1", ["workerSubnet"]));
  expect(variablesOf()).toEqual(["workerSubnet"]);
  expect(read()).toBe(read());
  store.set(aClass("2", ["workerSubnet", "authorizedCIDRs"]));
  expect(variablesOf()).toEqual(["workerSubnet", "authorizedCIDRs"]);
  store.remove("marina/standard-v1");
  expect(read().size).toBe(0);
});
