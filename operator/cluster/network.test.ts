import { describe, expect, test } from "vitest";
import { decideChildren } from "./children.ts";
import type { ObservedCluster } from "./observe.ts";
import { aCluster, CLUSTER_ID, NOW, observeBlue } from "./testing.ts";

function networkOf(observed: ObservedCluster) {
  const decision = decideChildren(observed, undefined, CLUSTER_ID, NOW);
  if (!decision.ok) throw new Error(`rejected: ${decision.problem.message}`);
  return decision.capiCluster.spec?.clusterNetwork;
}

const blocks = (...cidrBlocks: string[]) => ({ cidrBlocks });

describe("a new cluster", () => {
  const fresh = (clusterNetwork?: { pods?: string[]; services?: string[] }) =>
    observeBlue({ cluster: aCluster(clusterNetwork && { clusterNetwork }), capi: undefined });

  test.each([
    [undefined, { pods: blocks("192.168.0.0/16"), services: blocks("10.128.0.0/12") }],
    [
      { pods: ["172.16.0.0/16", "fd00::/56"] },
      { pods: blocks("172.16.0.0/16", "fd00::/56"), services: blocks("10.128.0.0/12") },
    ],
    [
      { pods: ["172.16.0.0/16"], services: ["172.17.0.0/16"] },
      { pods: blocks("172.16.0.0/16"), services: blocks("172.17.0.0/16") },
    ],
  ])("that names %o gets the rest from the platform", (given, expected) => {
    expect(networkOf(fresh(given))).toEqual(expected);
  });

  test.each([
    ["Services of the platform", { pods: ["10.130.0.0/16"] }, "10.130.0.0/16 and 10.128.0.0/12"],
    ["its nodes", { services: ["10.64.0.0/16"] }, "10.64.0.0/16 and 10.64.3.0/24"],
  ])("whose network overlaps that of %s is refused, and the message names both", (_, given, both) => {
    const { problem } = decideChildren(fresh(given), undefined, CLUSTER_ID, NOW);
    expect(problem).toMatchObject({ reason: "NetworksOverlap" });
    expect(problem?.message).toContain(both);
  });

  test("gets none when neither names one", () => {
    const { settings, ...rest } = fresh();
    expect(networkOf({ ...rest, settings: { ...settings, clusterNetwork: {} } })).toBeUndefined();
  });
});

describe("a cluster that exists", () => {
  test.each([
    undefined,
    { services: blocks("10.96.0.0/12") },
    { pods: blocks("10.0.0.0/8"), services: blocks("10.96.0.0/12") },
  ])("keeps the networks %o, whatever the configuration says", (clusterNetwork) => {
    const capiFacts = clusterNetwork === undefined ? {} : { clusterNetwork };
    expect(networkOf(observeBlue({ capiFacts }))).toEqual(clusterNetwork);
  });
});
