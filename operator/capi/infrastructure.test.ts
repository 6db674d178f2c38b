import { expect, test } from "vitest";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type ManagedFieldsEntry } from "../../shared/kube/kind.ts";
import {
  createInfrastructureReader,
  type InfrastructureCluster,
  readInfrastructure,
} from "./infrastructure.ts";

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

test.each<[string, InfrastructureCluster["status"], number, boolean]>([
  ["nothing", {}, 3600, false],
  ["that it is ready, in the contract v1beta1", { ready: true }, 3600, true],
  ["that it is provisioned, without conditions", { initialization: { provisioned: true } }, 3600, true],
  ["that it is provisioned and no generation", { initialization: { provisioned: true } }, 0, false],
  ["Ready and no generation", { conditions: [readyAt(undefined)] }, 29, false],
  ["Ready and no generation", { conditions: [readyAt(undefined)] }, 30, true],
  ["Ready of this generation", { observedGeneration: 3, conditions: [readyAt(3)] }, 0, true],
  ["Ready of a former generation", { conditions: [readyAt(2)] }, 3600, false],
  ["a former generation", { observedGeneration: 2, conditions: [readyAt(undefined)] }, 3600, false],
  ["not Ready", { initialization: { provisioned: true }, conditions: [readyAt(3, "False")] }, 3600, false],
])("infrastructure that reports %s, changed %3$i s ago, has acted: %4$s", (_, status, ago, hasActed) => {
  expect(readInfrastructure(anObject(status, {}, ago), NOW).hasActed).toBe(hasActed);
});

test.each<[string, string[], string[], boolean]>([
  ["its list and its own addresses", LIST, [...LIST, "10.6.0.0/24", "10.6.0.5/32"], true],
  ["a longer list of before", LIST, [...LIST, "198.51.100.0/24"], false],
  ["no list, as of a load balancer that ignores it", LIST, [], false],
  ["a list that is removed", [], LIST, false],
])("OpenStack's that reports %s, changed just now, has acted: %4$s", (_, wanted, given, hasActed) => {
  const own = { network: { subnets: [{ cidr: "10.6.0.0/24" }] }, router: { ips: ["10.6.0.5"] } };
  const status = { ...own, conditions: [readyAt(undefined)], apiServerLoadBalancer: { allowedCIDRs: given } };
  const object = anObject(status, { apiServerLoadBalancer: { allowedCIDRs: wanted } }, 0);
  expect(readInfrastructure({ ...object, kind: "OpenStackCluster" }, NOW).hasActed).toBe(hasActed);
});

const fails = (status: number) => Promise.reject(new KubeError({ status, reason: "", kubeMessage: "" }));

test.each<[string, boolean, () => Promise<undefined>]>([
  ["is not there", true, () => Promise.resolve(undefined)],
  ["may not be read", true, () => fails(403)],
  ["is of a kind that is not served any more", true, () => fails(404)],
  ["cannot be read at present", false, () => fails(503)],
])("that an object %s is said: %s", async (_, isSaid, get) => {
  const group = "infrastructure.example.com";
  const kind = defineKind({ group, version: "v1", kind: "Any", plural: "anys", namespaced: true });
  const reader = createInfrastructureReader({ get, listKinds: () => Promise.resolve([kind]) });
  const spec = { infrastructureRef: { apiGroup: group, kind: "Any", name: "blue" } };
  const capi = { apiVersion: "v1", kind: "Cluster", metadata: { name: "blue" }, spec };
  const state = await reader.read(capi, NOW, new AbortController().signal);
  expect(state).toEqual(isSaid ? { lists: [], unreadable: group } : undefined);
});

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
