import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { nodePoolDefinition } from "./definitions.ts";
import {
  bothReturn,
  boundCases,
  long,
  nameRejections,
  nodePoolSpec,
  openTestApi,
  type SpecCase,
  validateNames,
  validateSpec,
} from "./testing.ts";

const api = setUp(openTestApi);

const pool = (change: object) => ({ ...nodePoolSpec, ...change });
const withoutField = (field: string) =>
  Object.fromEntries(Object.entries(nodePoolSpec).filter(([name]) => name !== field));
const nodes = (minNodes: number, desiredNodes: number, maxNodes: number) =>
  pool({ minNodes, desiredNodes, maxNodes });

const nodePoolCases: SpecCase[] = [
  { title: "the least that is needed", spec: nodePoolSpec },
  ...["clusterName", "vcpus", "memoryGB", "diskGB"].map((field) => ({
    title: `no ${field}`,
    spec: withoutField(field),
    rejected: `spec.${field}: Required value`,
  })),
  ...["minNodes", "maxNodes", "desiredNodes"].map((field) => ({
    title: `no ${field}`,
    spec: withoutField(field),
  })),
  {
    title: "a minimum of 2 alone",
    spec: { ...withoutField("desiredNodes"), minNodes: 2 },
    rejected:
      "spec.minNodes: Invalid value: must not be greater than spec.desiredNodes, which is 1 when it is left out: add spec.desiredNodes",
  },
  ...["Shop", "shop.eu", "-shop", ""].map((clusterName) => ({
    title: `cluster "${clusterName}"`,
    spec: pool({ clusterName }),
    rejected: "spec.clusterName",
  })),
  {
    title: "a cluster name of 41 characters",
    spec: pool({ clusterName: long(41) }),
    rejected: "spec.clusterName: Too long: may not be more than 40 bytes",
  },
  ...boundCases("vcpus", 1, 128, nodePoolSpec),
  ...boundCases("memoryGB", 1, 512, nodePoolSpec),
  ...boundCases("diskGB", 1, 2048, nodePoolSpec),
  ...boundCases("minNodes", 0, 1000, nodePoolSpec, { desiredNodes: 1000, maxNodes: 1000 }),
  ...boundCases("desiredNodes", 0, 1000, nodePoolSpec, { minNodes: 0, maxNodes: 1000 }),
  ...boundCases("maxNodes", 0, 1000, nodePoolSpec, { minNodes: 0, desiredNodes: 0 }),
  ...boundCases("drainTimeoutSeconds", 30, 3600, nodePoolSpec),
  ...boundCases("scaleDownDelaySeconds", 60, 3600, nodePoolSpec),
  ...boundCases("scaleDownUtilizationPercent", 10, 90, nodePoolSpec),
  { title: "min = desired = max", spec: nodes(2, 2, 2) },
  {
    title: "desired below min",
    spec: nodes(3, 2, 5),
    rejected:
      "spec.minNodes: Invalid value: must not be greater than spec.desiredNodes, which is 1 when it is left out: add spec.desiredNodes",
  },
  {
    title: "desired above max",
    spec: nodes(1, 6, 5),
    rejected: "spec.desiredNodes: Invalid value: must not be greater than spec.maxNodes",
  },
];

const totalCases: SpecCase[] = [
  ...boundCases("minVCPUs", 0, 128_000, pool({ vcpus: 128, maxVCPUs: 128_000 })),
  ...boundCases("maxVCPUs", 1, 128_000, pool({ vcpus: 1 })),
  ...boundCases("minMemoryGB", 0, 512_000, pool({ memoryGB: 512, maxMemoryGB: 512_000 })),
  ...boundCases("maxMemoryGB", 1, 512_000, pool({ memoryGB: 1 })),
  {
    title: "totals that are equal: a fixed pool",
    spec: pool({ minVCPUs: 8, maxVCPUs: 8, minMemoryGB: 32, maxMemoryGB: 32 }),
  },
  { title: "a maximum alone", spec: pool({ maxVCPUs: 8 }) },
  { title: "a minimum alone", spec: pool({ minMemoryGB: 32 }) },
  { title: "totals from none", spec: pool({ minVCPUs: 0, maxVCPUs: 8, minMemoryGB: 0, maxMemoryGB: 32 }) },
  {
    title: "CPU minimum above its maximum",
    spec: pool({ minVCPUs: 12, maxVCPUs: 8 }),
    rejected: "spec.minVCPUs: Invalid value: must not be greater than spec.maxVCPUs",
  },
  {
    title: "memory minimum above its maximum",
    spec: pool({ minMemoryGB: 64, maxMemoryGB: 32 }),
    rejected: "spec.minMemoryGB: Invalid value: must not be greater than spec.maxMemoryGB",
  },
  {
    title: "CPU minimum below one node",
    spec: pool({ minVCPUs: 3, maxVCPUs: 8 }),
    rejected: "spec.minVCPUs: Invalid value: must be 0 or cover at least one node (spec.vcpus)",
  },
  {
    title: "memory minimum below one node",
    spec: pool({ minMemoryGB: 15, maxMemoryGB: 32 }),
    rejected: "spec.minMemoryGB: Invalid value: must be 0 or cover at least one node (spec.memoryGB)",
  },
  {
    title: "CPU maximum below one node",
    spec: pool({ maxVCPUs: 1 }),
  },
  {
    title: "memory maximum below one node",
    spec: pool({ maxMemoryGB: 15 }),
  },
  {
    title: "memory for one node with CPU for two at least",
    spec: pool({ minVCPUs: 8, maxVCPUs: 8, maxMemoryGB: 15 }),
    rejected: "no number of nodes fits",
  },
  {
    title: "no whole number of nodes between the CPU totals",
    spec: pool({ minVCPUs: 5, maxVCPUs: 7 }),
    rejected: "no number of nodes fits",
  },
  {
    title: "CPU requires more nodes than memory allows",
    spec: pool({ minVCPUs: 16, maxVCPUs: 32, maxMemoryGB: 32 }),
    rejected: "no number of nodes fits",
  },
  {
    title: "memory requires more nodes than CPU allows",
    spec: pool({ maxVCPUs: 8, minMemoryGB: 48, maxMemoryGB: 64 }),
    rejected: "no number of nodes fits",
  },
  {
    title: "more nodes at least than a pool may have",
    spec: pool({ minVCPUs: 4004, maxVCPUs: 5000 }),
    rejected: "no number of nodes fits",
  },
  { title: "totals of a fixed pool that fit no number of nodes", spec: pool({ minVCPUs: 6, maxVCPUs: 6 }) },
];

describe("a NodePool with", () => {
  test.each([...nodePoolCases, ...totalCases])("$title", async ({ spec, rejected }) => {
    expect(await validateSpec(api, nodePoolDefinition, spec)).toEqual(bothReturn(rejected));
  });
});

test("the name of a NodePool has at most 40 characters and no dot", async () => {
  expect(await validateNames(api, nodePoolDefinition, nodePoolSpec)).toEqual(nameRejections);
});
