import { describe, expect, test } from "vitest";
import { createStore } from "../../shared/kube/store.ts";
import { createClassReader, readClusterClass } from "./cluster-class.ts";
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

describe("of authorized CIDRs a class says", () => {
  const limited = (maxItems?: number) => ({
    schema: { openAPIV3Schema: maxItems === undefined ? {} : { maxItems } },
  });
  const listIn = (...lengths: (number | undefined)[]) => ({
    variables: [{ name: "authorizedCIDRs", definitions: lengths.map(limited) }],
  });
  const spec = (maxItems?: number) => ({ variables: [{ name: "authorizedCIDRs", ...limited(maxItems) }] });
  const read = (change: Pick<ClusterClass, "spec" | "status">, annotations: Record<string, string> = {}) => {
    const { metadata, ...rest } = aClass("1", []);
    return readClusterClass({ ...rest, metadata: { ...metadata, annotations }, ...change });
  };

  test.each<[string, Pick<ClusterClass, "spec" | "status">, number | undefined]>([
    ["in its own schema", { spec: spec(60) }, 60],
    ["in that of an extension, which its status alone has", { spec: {}, status: listIn(40) }, 40],
    ["in both, of which the list has to satisfy each", { spec: spec(60), status: listIn(60, 40) }, 40],
    ["nowhere, where there is no bound", { spec: spec(), status: listIn(undefined) }, undefined],
    [
      "of another variable",
      { status: { variables: [{ name: "plan", definitions: [limited(9)] }] } },
      undefined,
    ],
  ])("how many it takes: %s", (_what, change, most) => {
    expect(read(change).maxAuthorizedCIDRs).toBe(most);
  });

  test.each([
    ["ipv4", true],
    [undefined, false],
  ])("by the families %s whether those of IPv4 alone are in force: %s", (families, isAlone) => {
    const name = "cloud.marina.dev/authorized-cidrs-families";
    const { hasIPv4CIDRsAlone } = read({}, families === undefined ? {} : { [name]: families });
    expect(hasIPv4CIDRsAlone).toBe(isAlone);
  });
});
