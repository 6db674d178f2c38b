import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterDefinition } from "./definitions.ts";
import {
  bothReturn,
  boundCases,
  clusterSpec,
  list,
  long,
  nameRejections,
  openTestApi,
  type SpecCase,
  validateNames,
  validateSpec,
} from "./testing.ts";

const api = setUp(openTestApi);

const network = (cidrs: unknown[]) => ({ ...clusterSpec, network: { authorizedCIDRs: cidrs } });
const notCidr = "must be a block in CIDR notation";
const hostBits = "must not have host bits set";
const rateLimit = (limit: object) => ({ ...clusterSpec, network: { apiServerRateLimit: limit } });

const clusterCases: SpecCase[] = [
  { title: "the least that is needed", spec: clusterSpec },
  { title: "no version", spec: {}, rejected: "spec.version: Required value" },
  ...["1.34", "v1.34", "v1.34.2", "1.0.0"].map((version) => ({
    title: `version ${version}`,
    spec: { version },
  })),
  ...["1", "latest", "1.34.2-rc.1", "01.34.2", "1.034", "1.34.2.1", " 1.34.2", "V1.34"].map((version) => ({
    title: `version "${version}"`,
    spec: { version },
    rejected: "spec.version in body should match",
  })),
  { title: "a display name of one character", spec: { ...clusterSpec, displayName: "x" } },
  { title: "a display name of 63 emoji", spec: { ...clusterSpec, displayName: "🚢".repeat(63) } },
  {
    title: "no display name",
    spec: { ...clusterSpec, displayName: "" },
    rejected: "spec.displayName in body should be at least 1 chars long",
  },
  {
    title: "a display name of 64 characters",
    spec: { ...clusterSpec, displayName: long(64) },
    rejected: "spec.displayName: Too long: may not be more than 63 bytes",
  },
  ...["می\u200cخواهم", "क्\u200dष", "👩\u200d💻"].map((displayName) => ({
    title: `a display name with a joiner: ${displayName}`,
    spec: { ...clusterSpec, displayName },
  })),
  ..."\n\u0085\u2028\u061c\u200e\u200f\u202a\u202e\u2066\u2069".split("").map((mark) => ({
    title: `a display name with ${JSON.stringify(mark)}`,
    spec: { ...clusterSpec, displayName: `a${mark}b` },
    rejected: "must be one line that is not blank, without control characters and marks of text direction",
  })),
  { title: "a plan", spec: { ...clusterSpec, plan: "growth-2" } },
  {
    title: "a plan that is no slug",
    spec: { ...clusterSpec, plan: "Growth" },
    rejected: "spec.plan in body should match",
  },
  {
    title: "a plan with two dashes",
    spec: { ...clusterSpec, plan: "a--b" },
    rejected: "spec.plan in body should match",
  },
  { title: "no public endpoint", spec: { ...clusterSpec, publicEndpoint: false } },
  {
    title: "a public endpoint as text",
    spec: { ...clusterSpec, publicEndpoint: "yes" },
    rejected: "spec.publicEndpoint in body must be of type boolean",
  },
  ...[1, 3, 5].map((count) => ({
    title: `${count} control-plane replicas`,
    spec: { ...clusterSpec, controlPlaneReplicas: count },
  })),
  ...[0, 2, 4, 7].map((count) => ({
    title: `${count} control-plane replicas`,
    spec: { ...clusterSpec, controlPlaneReplicas: count },
    rejected: `spec.controlPlaneReplicas: Unsupported value: ${count}: supported values: "1", "3", "5"`,
  })),
  ...boundCases("credentialsGeneration", 0, 2_147_483_647, clusterSpec),
];

const networkCases: SpecCase[] = [
  { title: "an empty allowlist", spec: network([]) },
  ...[
    "0.0.0.0/0",
    "::/0",
    "10.0.0.0/8",
    "203.0.113.7/32",
    "2001:db8::/32",
    "2001:DB8::1/128",
    "64:ff9b::192.0.2.0/120",
    "1:2:3:4:5:6:7:8/128",
  ].map((cidr) => ({ title: `block ${cidr}`, spec: network([cidr]) })),
  ...[
    "10.0.0.1",
    "2001:db8::1",
    "",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/",
    "010.0.0.0/8",
    "10.0.0/8",
    "10.0.0.0/8/8",
    " 10.0.0.0/8",
    "2001:db8::/129",
    "fe80::%eth0/64",
    "::ffff:10.0.0.0/104",
    "::ffff:a00:0/104",
    "example.com/24",
  ].map((cidr) => ({
    title: `block "${cidr}"`,
    spec: network([cidr]),
    rejected: "spec.network.authorizedCIDRs[0]",
  })),
  {
    title: "a bare address among blocks",
    spec: network(["10.0.0.0/8", "10.0.0.1"]),
    rejected: `spec.network.authorizedCIDRs[1]: Invalid value: "10.0.0.1": ${notCidr}`,
  },
  ...[
    "10.0.0.5/8",
    "10.0.0.1/0",
    "192.168.1.1/31",
    "2001:db8::1/32",
    "2001:db8:8000::/32",
    "64:ff9b::192.0.2.1/120",
  ].map((cidr) => ({
    title: `block ${cidr} with host bits`,
    spec: network([cidr]),
    rejected: `spec.network.authorizedCIDRs[0]: Invalid value: "${cidr}": ${hostBits}`,
  })),
  {
    title: "the same block twice",
    spec: network(["10.0.0.0/8", "192.0.2.0/24", "10.0.0.0/8"]),
    rejected: "spec.network.authorizedCIDRs: Invalid value: must not list the same block twice",
  },
  { title: "256 blocks", spec: network(list(256, (index) => `10.${index}.0.0/16`)) },
  {
    title: "256 blocks of the longest form",
    spec: network(
      list(256, (index) => `2001:0db8:0000:0000:0000:0000:0000:1${String(index).padStart(3, "0")}/128`),
    ),
  },
  {
    title: "257 blocks",
    spec: network([...list(256, (index) => `10.${index}.0.0/16`), "192.0.2.0/24"]),
    rejected: "spec.network.authorizedCIDRs: Too many: 257: must have at most 256 items",
  },
  { title: "a whole rate limit", spec: rateLimit({ maxConnectionsPerSecond: 1, burst: 1 }) },
  {
    title: "a rate limit without burst",
    spec: rateLimit({ maxConnectionsPerSecond: 10 }),
    rejected: "spec.network.apiServerRateLimit.burst: Required value",
  },
  {
    title: "a rate limit of burst alone",
    spec: rateLimit({ burst: 10 }),
    rejected: "spec.network.apiServerRateLimit.maxConnectionsPerSecond: Required value",
  },
  {
    title: "a rate limit of 0",
    spec: rateLimit({ maxConnectionsPerSecond: 0, burst: 1 }),
    rejected:
      "spec.network.apiServerRateLimit.maxConnectionsPerSecond in body should be greater than or equal to 1",
  },
];

const networks = (clusterNetwork: object) => ({ ...clusterSpec, clusterNetwork });
const clusterNetworkCases: SpecCase[] = [
  { title: "no networks of its own", spec: networks({}) },
  ...[["10.0.0.0/16"], ["fd00::/56"], ["10.0.0.0/16", "fd00::/56"], ["fd00::/56", "10.0.0.0/16"]].map(
    (pods) => ({ title: `pods in ${pods.join()}`, spec: networks({ pods }) }),
  ),
  {
    title: "pods and Services of both families",
    spec: networks({ pods: ["10.0.0.0/16", "fd00::/56"], services: ["10.1.0.0/16", "fd00:0:0:100::/108"] }),
  },
  ...[[], ["10.0.0.0/16", "fd00::/56", "fd01::/56"]].map((pods) => ({
    title: `pods in ${pods.length} networks`,
    spec: networks({ pods }),
    rejected: "spec.clusterNetwork.pods",
  })),
  ...["10.0.0.0", "10.0.0.5/16", "::ffff:10.0.0.0/104"].map((block) => ({
    title: `Services in ${block}`,
    spec: networks({ services: [block] }),
    rejected: "spec.clusterNetwork.services[0]",
  })),
  ...[
    ["10.0.0.0/16", "10.1.0.0/16"],
    ["fd00::/56", "fd00:0:0:100::/56"],
  ].map((pods) => ({
    title: `pods in ${pods.join(" and ")}`,
    spec: networks({ pods }),
    rejected: "spec.clusterNetwork.pods: Invalid value: must have at most one IPv4 and one IPv6 block",
  })),
  ...[
    { pods: ["10.0.0.0/8"], services: ["10.96.0.0/12"] },
    { pods: ["10.96.1.0/24"], services: ["10.96.0.0/12"] },
    { pods: ["10.0.0.0/16", "fd00::/56"], services: ["10.1.0.0/16", "fd00::/108"] },
  ].map((given) => ({
    title: `overlapping networks ${JSON.stringify(given)}`,
    spec: networks(given),
    rejected: "spec.clusterNetwork.services: Invalid value: must not overlap the networks of pods",
  })),
];

describe("a Cluster with", () => {
  test.each([...clusterCases, ...networkCases, ...clusterNetworkCases])(
    "$title",
    async ({ spec, rejected }) => {
      expect(await validateSpec(api, clusterDefinition, spec)).toEqual(bothReturn(rejected));
    },
  );
});

test("the name of a Cluster has at most 40 characters and no dot", async () => {
  expect(await validateNames(api, clusterDefinition, clusterSpec)).toEqual(nameRejections);
});
