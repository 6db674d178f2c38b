import { describe, expect, test } from "vitest";
import { decideChildren } from "./children.ts";
import { authorizeCIDRs } from "./networks.ts";
import type { ObservedCluster } from "./observe.ts";
import { aCluster, aClusterPool, aPool, CAPABLE, CLUSTER_ID, NOW, observeBlue } from "./testing.ts";

function topologyOf(observed: ObservedCluster) {
  const decision = decideChildren(observed, undefined, CLUSTER_ID, NOW);
  if (!decision.ok) throw new Error(`rejected: ${decision.problem.reason}`);
  return { ...decision.capiCluster.spec?.topology, problem: decision.problem };
}

function problemOf(observed: ObservedCluster) {
  return decideChildren(observed, undefined, CLUSTER_ID, NOW).problem;
}

const poor = (...without: string[]) =>
  new Map([
    [
      "marina-system/standard-v1",
      { ...CAPABLE, variables: new Set([...CAPABLE.variables].filter((name) => !without.includes(name))) },
    ],
  ]);

describe("the topology", () => {
  test("excludes a pool that has no finalizer, is a copy, is being deleted, or whose predecessor is", () => {
    const pools = [
      aClusterPool({ pool: named("stays") }),
      aClusterPool({ pool: named("again"), capiDeleting: true }),
      aClusterPool({ pool: named("not-accepted", { finalizers: [] }) }),
      aClusterPool({ pool: named("going", { deletionTimestamp: "2026-03-01T11:00:00Z" }) }),
      aClusterPool({ pool: named("copy"), olderDuplicate: "org/general" }),
    ];
    const names = topologyOf(observeBlue({ pools })).workers?.machineDeployments?.map((pool) => pool.name);
    expect(names).toEqual(["stays"]);
  });

  test("has only the variables that the class declares", () => {
    const observed = observeBlue({
      cluster: aCluster({ network: { authorizedCIDRs: ["198.51.100.0/24"] } }),
      classes: poor("plan", "workerSubnet"),
    });
    expect(topologyOf(observed).variables).toEqual([
      { name: "publicEndpoint", value: true },
      { name: "authorizedCIDRs", value: ["198.51.100.0/24", "10.64.3.0/24", "192.0.2.0/24"] },
    ]);
  });

  test.each([
    ["a private endpoint", aCluster({ publicEndpoint: false }), "publicEndpoint"],
    ["authorized CIDRs", aCluster({ network: { authorizedCIDRs: ["10.0.0.0/8"] } }), "authorizedCIDRs"],
  ])("of a new cluster is not applied when the class does not support %s", (message, cluster, variable) => {
    const problem = problemOf(observeBlue({ cluster, capi: undefined, classes: poor(variable) }));
    expect(problem).toMatchObject({ reason: "UnsupportedByClass" });
    expect(problem?.message).toContain(message);
  });

  test.each([
    { what: "without a list", list: undefined, platform: [], reasons: [] },
    { what: "with an empty list", list: [], platform: [], reasons: [] },
    { what: "with both", list: ["198.51.100.0/24"], platform: ["192.0.2.0/24"], reasons: [] },
    {
      what: "with a list alone",
      list: ["198.51.100.0/24"],
      platform: [],
      reasons: ["AuthorizedCIDRsUnavailable"],
    },
  ])(
    "is not applied when authorized CIDRs would keep the platform out: $what",
    ({ list, platform, reasons }) => {
      const cluster = aCluster(list === undefined ? {} : { network: { authorizedCIDRs: list } });
      const { settings } = observeBlue();
      const problem = problemOf(
        observeBlue({ cluster, capi: undefined, settings: { ...settings, platformCIDRs: platform } }),
      );
      const problems = problem === undefined ? [] : [problem];
      const message = expect.stringContaining("MARINA_PLATFORM_CIDRS");
      expect(problems).toEqual(reasons.map((reason) => ({ reason, message })));
    },
  );

  test("omits the variable for an empty list of authorized CIDRs, which allows every address", () => {
    expect(authorizeCIDRs([], "10.64.3.0/24", ["192.0.2.0/24"])).toBeUndefined();
    expect(authorizeCIDRs(undefined, "10.64.3.0/24", [])).toBeUndefined();
  });

  test("authorizes a block once, however it is written, in a text that every class takes", () => {
    const long = "2001:0db8:0000:0000:0000:ffff:192.168.100.200/128";
    expect(authorizeCIDRs([long, "2001:DB8::/32"], "10.64.3.0/24", ["2001:db8:0::/32"])).toEqual([
      "2001:db8::ffff:c0a8:64c8/128",
      "2001:db8::/32",
      "10.64.3.0/24",
    ]);
  });
});

describe("the class of a cluster", () => {
  const twoClasses = new Map([
    ["marina-system/standard-v1", CAPABLE],
    ["marina-system/standard-v2", CAPABLE],
  ]);
  const { settings } = observeBlue();
  const v2 = { class: "standard-v2", namespace: "marina-system", controlPlaneReplicas: 1 };
  const remapped = { classes: twoClasses, settings: { ...settings, servicePlans: { default: v2 } } };

  test("stays when the plan is mapped to another one, so that a release causes no rollout", () => {
    expect(topologyOf(observeBlue(remapped))).toMatchObject({
      classRef: { name: "standard-v1" },
      version: "v1.34.2",
    });
  });

  test("changes with an upgrade that the user requested", () => {
    const observed = observeBlue({ ...remapped, cluster: aCluster({ version: "1.35" }) });
    expect(topologyOf(observed)).toMatchObject({ classRef: { name: "standard-v2" }, version: "v1.35.1" });
  });

  test("stays until the upgrade can start", () => {
    const observed = observeBlue({
      ...remapped,
      cluster: aCluster({ version: "1.35" }),
      capiFacts: { workers: ["1.34.2", "1.33.6"] },
    });
    expect(topologyOf(observed)).toMatchObject({ classRef: { name: "standard-v1" }, version: "v1.34.2" });
  });

  test("of a new cluster is the one of its plan", () => {
    expect(topologyOf(observeBlue({ ...remapped, capi: undefined }))).toMatchObject({
      classRef: { name: "standard-v2" },
    });
  });
});

describe("the version", () => {
  test.each([
    ["unknown", "1.35.9", "UnknownVersion"],
    ["older", "1.33", "DowngradeRefused"],
  ])("%s: the pools are applied nevertheless, with the live version", (_name, version, reason) => {
    const pools = [aClusterPool({ pool: aPool({ desiredNodes: 5 }) })];
    const topology = topologyOf(observeBlue({ cluster: aCluster({ version }), pools }));
    expect(topology).toMatchObject({ version: "v1.34.2", problem: { reason } });
    expect(topology.workers?.machineDeployments).toMatchObject([{ replicas: 5 }]);
  });

  test("that Cluster API has just rejected is not applied, the rest is", () => {
    const observed = observeBlue({ cluster: aCluster({ version: "1.35" }), upgradeRejection: "not now" });
    expect(topologyOf(observed).version).toBe("v1.34.2");
  });
});

describe("the worker subnet", () => {
  const subnetOf = (observed: ObservedCluster) => {
    const decision = decideChildren(observed, undefined, CLUSTER_ID, NOW);
    return decision.ok ? decision.subnet : `${decision.problem.reason}: ${decision.problem.message}`;
  };
  const unallocated = { own: undefined, taken: new Set(["10.64.0.0/24"]) };
  const withStatus = aCluster({}, { status: { workerSubnet: "10.64.2.0/24" } });

  test("is the one of its allocation, whatever the status says", () => {
    expect(subnetOf(observeBlue({ cluster: withStatus }))).toBe("10.64.3.0/24");
  });
  test("without an allocation is the one of its status", () => {
    expect(subnetOf(observeBlue({ cluster: withStatus, subnets: unallocated }))).toBe("10.64.2.0/24");
  });
  test("without allocation and status is the one of the live topology", () => {
    const variables = [{ name: "workerSubnet", value: "10.64.1.0/24" }];
    expect(subnetOf(observeBlue({ subnets: unallocated, capiFacts: { variables } }))).toBe("10.64.1.0/24");
  });
  test("is never one of another cluster, and the message names it", () => {
    const subnets = { own: undefined, taken: new Set(["10.64.2.0/24"]) };
    const refusal = /^NoFreeSubnet: The network 10\.64\.2\.0\/24 .+ belongs to another cluster now/;
    expect(subnetOf(observeBlue({ cluster: withStatus, subnets }))).toMatch(refusal);
  });
  test("is a free one for a new cluster, and a problem when none is left", () => {
    const all = ["10.64.0.0/24", "10.64.1.0/24", "10.64.2.0/24", "10.64.3.0/24"];
    const three = { own: undefined, taken: new Set(all.slice(0, 3)) };
    expect(subnetOf(observeBlue({ capi: undefined, subnets: three }))).toBe("10.64.3.0/24");
    const full = { own: undefined, taken: new Set(all) };
    expect(subnetOf(observeBlue({ capi: undefined, subnets: full }))).toMatch(/^NoFreeSubnet: .+ no free/);
  });
});

test.each([
  ["an unknown plan", observeBlue({ cluster: aCluster({ plan: "gold" }), capi: undefined }), "UnknownPlan"],
  [
    "a plan named like a property of every object",
    observeBlue({ cluster: aCluster({ plan: "constructor" }), capi: undefined }),
    "UnknownPlan",
  ],
  ["a missing class", observeBlue({ classes: new Map() }), "ClassNotFound"],
  [
    "a foreign Cluster API Cluster",
    observeBlue({ capiFacts: { metadata: { ownerReferences: [], labels: {} } } }),
    "NameTaken",
  ],
])("with %s nothing is applied", (_name, observed, reason) => {
  expect(problemOf(observed)?.reason).toBe(reason);
  expect(decideChildren(observed, undefined, CLUSTER_ID, NOW).ok).toBe(false);
});

function named(name: string, metadata: object = {}) {
  const pool = aPool();
  return { ...pool, metadata: { ...pool.metadata, name, ...metadata } };
}

describe("a cluster whose plan was removed", () => {
  const gold = (version: string) => observeBlue({ cluster: aCluster({ plan: "gold", version }) });

  test("keeps its class, control plane and version, and its pools are applied", () => {
    const kept = decideChildren(gold("1.34"), undefined, CLUSTER_ID, NOW);
    expect(kept).toMatchObject({
      ok: true,
      problem: undefined,
      capiCluster: {
        spec: {
          topology: { version: "v1.34.2", classRef: { name: "standard-v1" }, controlPlane: { replicas: 1 } },
        },
      },
    });
  });

  test("is not upgraded, and says why", () => {
    const decision = decideChildren(gold("1.35"), undefined, CLUSTER_ID, NOW);
    expect(decision).toMatchObject({ ok: true, problem: { reason: "UnknownPlan" } });
    expect(decision.ok && decision.capiCluster.spec?.topology?.version).toBe("v1.34.2");
  });
});

describe("a cluster that its class did not make, whose plan has another class since", () => {
  const blue = observeBlue({ capi: undefined });
  const plan = { class: "standard-v2", namespace: "marina-system", controlPlaneReplicas: 1 };
  const replanned: ObservedCluster = {
    ...blue,
    classes: new Map([...blue.classes, ["marina-system/standard-v2", CAPABLE]]),
    settings: { ...blue.settings, servicePlans: { default: plan } },
  };
  const marked = { ...blue.subnets, own: blue.subnets.own && { ...blue.subnets.own, capiUid: "capi-uid" } };

  test.each([
    { what: "gets that one, for it was never made", change: {}, status: {}, name: "standard-v2" },
    {
      what: "keeps its class, for it was made before",
      change: { subnets: marked },
      status: {},
      name: "standard-v1",
    },
    {
      what: "keeps its class, for it was ready",
      change: {},
      status: { firstReadyAt: "2026-03-01T11:00:00Z" },
      name: "standard-v1",
    },
  ])("$what", ({ change, status, name }) => {
    const cluster = aCluster({}, { status: { id: CLUSTER_ID, clusterClass: "standard-v1", ...status } });
    expect(topologyOf({ ...replanned, ...change, cluster }).classRef?.name).toBe(name);
  });
});
