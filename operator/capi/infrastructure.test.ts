import { expect, test } from "vitest";
import type { ManagedFieldsEntry } from "../../shared/kube/kind.ts";
import { type InfrastructureCluster, readInfrastructure } from "./infrastructure.ts";

const NOW = new Date("2026-01-01T01:00:00Z");
const LIST = ["203.0.113.0/24", "10.64.3.0/24"];

/** Its specification was changed last so many seconds ago, and its status later. */
function anObject(
  status: InfrastructureCluster["status"],
  spec: object = {},
  changedSecondsAgo = 3600,
): InfrastructureCluster {
  const at = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString();
  const written = (seconds: number, part: string): ManagedFieldsEntry => ({
    manager: "any",
    operation: "Update",
    time: at(seconds),
    fieldsV1: { [part]: {} },
  });
  const managedFields = [
    written(changedSecondsAgo, "f:spec"),
    written(0, "f:metadata"),
    { ...written(0, "f:spec"), subresource: "status" },
  ];
  const metadata = { name: "blue", namespace: "org", generation: 3, managedFields };
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
  expect(readInfrastructure(anObject(status), NOW).isSettled).toBe(isSettled);
});

test.each<[string, InfrastructureCluster["status"], number, boolean]>([
  ["that it is ready and no generation", { conditions: [readyAt(undefined)] }, 29, false],
  ["that it is ready and no generation", { conditions: [readyAt(undefined)] }, 30, true],
  ["that it is provisioned and no generation", { initialization: { provisioned: true } }, 0, false],
  ["Ready of this generation", { conditions: [readyAt(3)] }, 0, true],
])(
  "infrastructure that reports %s, changed %i s ago, is settled: %s",
  (_what, status, seconds, isSettled) => {
    expect(readInfrastructure(anObject(status, {}, seconds), NOW).isSettled).toBe(isSettled);
  },
);

test.each<[string, object]>([
  ["one list", { apiServerLoadBalancer: { allowedCIDRs: LIST } }],
  [
    "the lists of a rule",
    { loadBalancer: { rules: [{ cidrBlocks: [LIST[0]] }, { ipv6CidrBlocks: [LIST[1]] }] } },
  ],
])("networks are found in %s", (_what, spec) => {
  expect(readInfrastructure(anObject({}, spec), NOW).lists).toEqual([new Set(LIST)]);
});

test("a network that is no entry of a list is not one that may reach the endpoint", () => {
  const spec = { network: { vpc: { cidrBlock: LIST[1] } } };
  expect(readInfrastructure(anObject({}, spec), NOW).lists).toEqual([]);
});
