import { expect, test } from "vitest";
import { type InfrastructureCluster, readInfrastructure } from "./infrastructure.ts";

const LIST = ["203.0.113.0/24", "10.64.3.0/24"];

function anObject(status: InfrastructureCluster["status"], spec: object = {}): InfrastructureCluster {
  const metadata = { name: "blue", namespace: "org", generation: 3 };
  return {
    apiVersion: "infrastructure.cluster.x-k8s.io/v1",
    kind: "AnyCluster",
    metadata,
    spec,
    status: status ?? {},
  };
}

const readyAt = (observedGeneration: number | undefined, status: "True" | "False" = "True") => ({
  type: "Ready",
  status,
  reason: "Ready",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  ...(observedGeneration !== undefined && { observedGeneration }),
});

test.each<[string, InfrastructureCluster["status"], boolean]>([
  ["nothing", {}, false],
  ["that it is ready, in the contract v1beta1", { ready: true }, true],
  ["that it is provisioned, without conditions", { initialization: { provisioned: true } }, true],
  ["Ready", { conditions: [readyAt(undefined)] }, true],
  ["Ready of this generation", { observedGeneration: 3, conditions: [readyAt(3)] }, true],
  ["Ready of a former generation", { conditions: [readyAt(2)] }, false],
  ["a former generation", { observedGeneration: 2, conditions: [readyAt(undefined)] }, false],
  [
    "that it is provisioned but not Ready",
    { initialization: { provisioned: true }, conditions: [readyAt(3, "False")] },
    false,
  ],
])("infrastructure that reports %s is settled: %3$s", (_what, status, isSettled) => {
  expect(readInfrastructure(anObject(status)).isSettled).toBe(isSettled);
});

test.each<[string, object]>([
  ["one list", { apiServerLoadBalancer: { allowedCIDRs: LIST } }],
  [
    "the lists of a rule",
    { loadBalancer: { rules: [{ cidrBlocks: [LIST[0]] }, { cidrBlocks: [LIST[1]] }] } },
  ],
])("networks are found in %s", (_what, spec) => {
  expect([...readInfrastructure(anObject({}, spec)).listed]).toEqual(LIST);
});

test("a network that is no entry of a list is not one that may reach the endpoint", () => {
  expect(readInfrastructure(anObject({}, { network: { vpc: { cidrBlock: LIST[1] } } })).listed.size).toBe(0);
});
