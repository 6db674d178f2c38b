import { expect, test } from "vitest";
import { KubeError } from "../../shared/kube/errors.ts";
import { defineKind, type Kind, type KubeObject } from "../../shared/kube/kind.ts";
import {
  createInfrastructureReader,
  type InfrastructureCluster,
  readInfrastructure,
  UNREADABLE,
} from "./infrastructure.ts";

const LIST = ["203.0.113.0/24", "10.64.3.0/24"];
const GROUP = "infrastructure.example.com";

function anObject(status: InfrastructureCluster["status"] = {}, spec: object = {}, kind = "AnyCluster") {
  const metadata = { name: "blue", namespace: "org", generation: 3 };
  return { apiVersion: `${GROUP}/v1beta1`, kind, metadata, spec, status };
}

const readyAt = (observedGeneration: number | undefined, status: "True" | "False" = "True") => ({
  type: "Ready",
  status,
  reason: "Ready",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  ...(observedGeneration !== undefined && { observedGeneration }),
});
const READY = { conditions: [readyAt(undefined)] };

type Progress = "acted" | "not acted" | "silent";

function progressOf(object: InfrastructureCluster): Progress {
  const { hasActed, isSilent } = readInfrastructure(object);
  if (isSilent) return "silent";
  return hasActed ? "acted" : "not acted";
}

test.each<[string, InfrastructureCluster["status"], Progress]>([
  ["nothing", {}, "not acted"],
  ["that it is ready, in the contract v1beta1", { ready: true }, "silent"],
  ["that it is provisioned, without conditions", { initialization: { provisioned: true } }, "silent"],
  ["Ready and no generation", READY, "silent"],
  ["Ready of this generation", { observedGeneration: 3, conditions: [readyAt(3)] }, "acted"],
  ["Ready of a former generation", { conditions: [readyAt(2)] }, "not acted"],
  ["a former generation", { observedGeneration: 2, ...READY }, "not acted"],
  ["not Ready", { initialization: { provisioned: true }, conditions: [readyAt(3, "False")] }, "not acted"],
])("infrastructure that reports %s: %3$s", (_, status, progress) => {
  expect(progressOf(anObject(status))).toBe(progress);
});

/** As the providers write them, which report no generation. */
const PROVIDERS = {
  OpenStack: (wanted: string[], given: string[], status: InfrastructureCluster["status"]) => {
    const own = { network: { subnets: [{ cidr: "10.6.0.0/24" }] }, router: { ips: ["10.6.0.5"] } };
    const reported = { ...own, ...status, apiServerLoadBalancer: { allowedCIDRs: given } };
    return anObject(reported, { apiServerLoadBalancer: { allowedCIDRs: wanted } }, "OpenStackCluster");
  },
  AWS: (wanted: string[], given: string[], status: InfrastructureCluster["status"]) => {
    const toRules = (list: string[]) => list.map((block) => ({ cidrBlocks: [block] }));
    const ingressRule = toRules(given);
    const securityGroups = { node: { ingressRule: toRules(["0.0.0.0/0"]) }, "apiserver-lb": { ingressRule } };
    const networkStatus = { securityGroups, natGatewaysIPs: ["10.6.0.5"] };
    const vpc = { cidrBlock: "10.6.0.0/24" };
    const spec = { network: { vpc }, controlPlaneLoadBalancer: { ingressRules: toRules(wanted) } };
    return anObject({ ...status, networkStatus }, spec, "AWSCluster");
  },
};

test.each<[string, string[], string[], Progress, Progress?]>([
  ["its list and its own addresses", LIST, [...LIST, "10.6.0.0/24", "10.6.0.5/32"], "acted"],
  ["a longer list of before", LIST, [...LIST, "198.51.100.0/24"], "not acted"],
  ["a part of its list", LIST, LIST.slice(1), "not acted"],
  ["no list, as of a load balancer that ignores it", LIST, [], "silent"],
  ["a list that is removed", [], LIST, "not acted"],
  ["none, and is to have none", [], [], "acted", "silent"],
  ["everybody, and is to have no list", [], ["0.0.0.0/0"], "not acted", "acted"],
])("an endpoint that is reported to let in %s", (_, wanted, given, ofOpenStack, ofAWS = ofOpenStack) => {
  expect(progressOf(PROVIDERS.OpenStack(wanted, given, READY))).toBe(ofOpenStack);
  expect(progressOf(PROVIDERS.AWS(wanted, given, READY))).toBe(ofAWS);
});

test("a version of OpenStack's object that has its list elsewhere says nothing of it", () => {
  const later = { ...PROVIDERS.OpenStack(LIST, LIST, READY), apiVersion: `${GROUP}/v1beta2` };
  expect(progressOf(later)).toBe("silent");
});

test.each(Object.entries(PROVIDERS))("%s: its list shows no update that may have failed", (_, make) => {
  const failed = { ready: true, conditions: [readyAt(undefined, "False")] };
  expect(progressOf(make(LIST, LIST, failed))).toBe("not acted");
  expect(progressOf(make(LIST, LIST, { ready: true }))).toBe("silent");
  expect(progressOf(make([], LIST, { ready: true }))).toBe("not acted");
});

const kind = defineKind({ group: GROUP, version: "v1", kind: "Any", plural: "anys", namespaced: true });
const reference = { infrastructureRef: { apiGroup: GROUP, kind: "Any", name: "blue" } };
const capi = { apiVersion: "v1", kind: "Cluster", metadata: { name: "blue" }, spec: reference };
const { signal } = new AbortController();
const fails = (status: number) => Promise.reject(new KubeError({ status, reason: "", kubeMessage: "" }));

test.each<[string, string | undefined, () => Promise<undefined>]>([
  ["is not there", UNREADABLE.absent("anys"), () => Promise.resolve(undefined)],
  ["may not be read", UNREADABLE.forbidden("anys", GROUP), () => fails(403)],
  ["is of a kind that is not served any more", UNREADABLE.unserved("anys"), () => fails(404)],
  ["cannot be read at present", undefined, () => fails(503)],
])("of an object that %s is said: %s", async (_, unreadable, get) => {
  const reader = createInfrastructureReader({ get, listKinds: () => Promise.resolve([kind]) });
  expect(await reader.read(capi, signal)).toEqual(unreadable && { lists: [], unreadable });
});

test("a kind that is installed later is found within 5 s", async () => {
  let seconds = 0;
  const kinds: Kind<KubeObject>[] = [];
  const get = () => Promise.resolve(anObject() as never);
  const client = { get, listKinds: () => Promise.resolve([...kinds]) };
  const reader = createInfrastructureReader(client, () => seconds * 1000);
  expect((await reader.read(capi, signal))?.unreadable).toBe(UNREADABLE.unserved("any"));
  kinds.push(kind);
  seconds = 5;
  expect((await reader.read(capi, signal))?.hasActed).toBe(false);
});

test.each<[string, object]>([
  ["one list", { apiServerLoadBalancer: { allowedCIDRs: LIST } }],
  [
    "the lists of a rule",
    { loadBalancer: { rules: [{ cidrBlocks: [LIST[0]] }, { ipv6CidrBlocks: [LIST[1]] }] } },
  ],
])("networks are found in %s", (_what, spec) => {
  expect(readInfrastructure(anObject({}, spec)).lists).toEqual([new Set(LIST)]);
});

test("a network that is no entry of a list is not one that may reach the endpoint", () => {
  const spec = { network: { vpc: { cidrBlock: LIST[1] } } };
  expect(readInfrastructure(anObject({}, spec)).lists).toEqual([]);
});
