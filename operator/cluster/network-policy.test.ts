import { describe, expect, test } from "vitest";
import { makeClass, makeCondition, makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { needsInfrastructureObject } from "./networks.ts";
import type { ObservedCluster } from "./observe.ts";
import { conditionOf, topologyOf } from "./testing-plan.ts";

const LIST = ["198.51.100.0/24"];
const OTHER = ["203.0.113.0/24"];
const RATE_LIMIT = { apiServerRateLimit: { maxConnectionsPerSecond: 5, burst: 10 } };
const POLICY = "NetworkPolicyApplied";

const byClass = (capabilities: object): Partial<ObservedCluster> => ({
  classes: new Map([["marina-system/standard-v1", { ...makeClass(), ...capabilities }]]),
});
const withoutVariable = (name: string) =>
  byClass({ variables: new Set([...makeClass().variables].filter((variable) => variable !== name)) });
const restricted = (authorizedCIDRs: string[]) => ({ network: { authorizedCIDRs } });
const actedOn = (...listed: string[]): Partial<ObservedCluster> => ({
  infrastructure: { hasActed: true, lists: [new Set(["subnet-1"]), new Set(listed)] },
});
const silent = (...listed: string[]): Partial<ObservedCluster> => ({
  infrastructure: { hasActed: false, isSilent: true, lists: [new Set(listed)] },
});

/** The list that Cluster API has. */
function listOf(fixture: ClusterFixture): unknown {
  const variables = fixture.capiObject().spec?.topology?.variables;
  return variables?.find(({ name }) => name === "authorizedCIDRs")?.value;
}

describe("a part of the network policy that is not supported waits alone", () => {
  const { settings } = aCluster().observed;
  const keptOut = { settings: { ...settings, platformCIDRs: [] } };
  test.each<[string, { network: object }, Partial<ObservedCluster>]>([
    ["a rate limit without a variable", { network: RATE_LIMIT }, withoutVariable("apiServerRateLimit")],
    ["a list without a variable", restricted(LIST), withoutVariable("authorizedCIDRs")],
    ["a list that is too long", restricted([...LIST, ...OTHER]), byClass({ maxAuthorizedCIDRs: 3 })],
    ["a list of networks of IPv6", restricted(["2001:db8::/32"]), byClass({ hasIPv4CIDRsAlone: true })],
    ["a list that would keep the platform out", restricted(LIST), keptOut],
  ])("%s: pools are scaled, and the condition says why", (_what, spec, change) => {
    const reason = change === keptOut ? "AuthorizedCIDRsUnavailable" : "UnsupportedByClass";
    const pool = makePool("web", { desiredNodes: 7 });
    const fixture = aCluster().withPools(makePool("web")).ready().with(change).withSpec(spec);
    const pools = fixture.observed.pools.map((one) => ({ ...one, pool }));
    const topology = topologyOf(fixture.with({ pools }).plan());
    expect(topology?.workers?.machineDeployments).toMatchObject([{ replicas: 7 }]);
    const plan = fixture.plan();
    expect(plan.write).toEqual([]);
    expect(plan.status).toMatchObject({ phase: "Ready", message: conditionOf(plan, POLICY)?.message });
    expect(conditionOf(plan, POLICY)).toMatchObject({ status: "False", reason });
    expect(conditionOf(plan, "Stalled")).toMatchObject({ status: "True", reason });
    const { message } = conditionOf(plan, POLICY) ?? {};
    const [rule] = Object.keys(spec.network);
    expect(plan.status?.unapplied).toEqual([{ field: `network.${rule}`, reason, message }]);
  });

  test("each of two that wait is in the status, once, also of a suspended cluster", () => {
    const classes = new Map([["marina-system/standard-v1", makeClass(["workerSubnet", "machine"])]]);
    const waiting = aCluster()
      .ready()
      .with({ classes })
      .withSpec({ network: { ...RATE_LIMIT, authorizedCIDRs: LIST } })
      .reconciled();
    const suspended = waiting.withSpec({ suspend: true }).reconciled();
    for (const { observed } of [waiting, suspended])
      expect(observed.cluster.status?.unapplied?.map(({ field }) => field)).toEqual([
        "network.authorizedCIDRs",
        "network.apiServerRateLimit",
      ]);
  });

  test("the list that is in force stays until another one is supported", () => {
    const before = aCluster(restricted(LIST)).ready();
    const tooLong = before.with(byClass({ maxAuthorizedCIDRs: 3 })).withSpec(restricted([...LIST, ...OTHER]));
    expect(tooLong.plan().write).toEqual([]);
    expect(listOf(tooLong.reconciled())).toEqual(listOf(before));
    expect(listOf(before)).toContain(LIST[0]);
  });

  test.each([
    ["a network is taken out", [...OTHER, "2001:db8::/32", "2001:db9::/32"], OTHER],
    ["only those are left", ["2001:db8::/32", "2001:db9::/32"], LIST],
  ])(
    "networks that the class does not support wait alone, and none of them lets everybody in: %s",
    (_what, list, sent) => {
      const before = aCluster(restricted(LIST)).ready();
      const platformCIDRs = [...settings.platformCIDRs, "2001:db8:f::/48"];
      const changed = before
        .with({ ...byClass({ hasIPv4CIDRsAlone: true }), settings: { ...settings, platformCIDRs } })
        .withSpec(restricted(list))
        .reconciled();
      const [platform] = settings.platformCIDRs;
      expect(listOf(changed.reconciled())).toEqual([
        ...sent,
        before.observed.cluster.status?.workerSubnet,
        platform,
      ]);
      const message = expect.stringContaining("as 2001:db8::/32, 2001:db9::/32.");
      const { conditions = [], unapplied } = changed.observed.cluster.status ?? {};
      for (const type of [POLICY, "Stalled"])
        expect(conditions).toContainEqual(
          expect.objectContaining({ type, reason: "UnsupportedByClass", message }),
        );
      expect(unapplied).toMatchObject([{ field: "network.authorizedCIDRs", message }]);
    },
  );

  test("nothing is read of the infrastructure for a list that waits alone", () => {
    const waiting = aCluster(restricted(LIST))
      .ready()
      .with(byClass({ maxAuthorizedCIDRs: 3 }))
      .withSpec(restricted([...LIST, ...OTHER]));
    const reported = waiting.reconciled();
    for (const fixture of [waiting, reported]) expect(fixture.plan().requeueAfterMs).toBeUndefined();
    expect(needsInfrastructureObject(reported.observed)).toBe(false);
    expect(needsInfrastructureObject(reported.withSpec(restricted(OTHER)).observed)).toBe(true);
  });

  test("a new cluster is made without the rate limit, and is not stalled while it comes up", () => {
    const fixture = aCluster({ network: RATE_LIMIT }).with(withoutVariable("apiServerRateLimit"));
    const plan = fixture.plan();
    expect(topologyOf(plan)).toMatchObject({ version: "v1.34.2" });
    expect(plan.status?.phase).toBe("Provisioning");
    expect(conditionOf(plan, POLICY)).toMatchObject({ status: "False", reason: "UnsupportedByClass" });
    expect(fixture.ready().observed.cluster.status?.phase).toBe("Ready");
  });
});

describe("the condition of the network rules is True only when the infrastructure has shown it", () => {
  const applied = aCluster().ready().withSpec(restricted(LIST)).reconciled().capiConverged();
  const all = listOf(applied) as string[];
  const withoutNodes = all.filter((block) => block !== applied.observed.cluster.status?.workerSubnet);
  const limited = aCluster().ready().withSpec({ network: RATE_LIMIT }).reconciled().capiConverged();
  const rolling = limited.withCapiConditions([makeCondition("RollingOut", "True")]);
  const statusOf = ({ observed }: ClusterFixture) =>
    observed.cluster.status?.conditions?.find(({ type }) => type === POLICY)?.status;

  test.each<[string, ClusterFixture, string]>([
    ["it was not read", applied, "False"],
    ["it has another list", applied.with(actedOn(...OTHER)), "False"],
    ["it still has the longer list of before", applied.with(actedOn(...all, ...OTHER)), "False"],
    [
      "it has not acted",
      applied.with({ infrastructure: { hasActed: false, lists: [new Set(all)] } }),
      "False",
    ],
    ["it has the list and has acted", applied.with(actedOn(...all)), "True"],
    ["it has the list and does not report whether it has acted", applied.with(silent(...all)), "Unknown"],
    ["it has another list and does not report that", applied.with(silent(...OTHER)), "False"],
    ["its class leaves the nodes' network to the provider", applied.with(actedOn(...withoutNodes)), "True"],
    ["it was not read, of a rate limit", limited, "False"],
    ["machines are being replaced, of a rate limit", rolling.with(actedOn()), "False"],
    ["it is settled, of a rate limit", limited.with(actedOn()), "True"],
    ["it does not report whether it has acted, of a rate limit", limited.with(silent()), "Unknown"],
  ])("%s", (_what, fixture, status) => {
    expect(statusOf(fixture.reconciled())).toBe(status);
  });

  test.each([
    [0, 5_000],
    [60, 60_000],
  ])("it is looked at again until then: %i s after the change in %i ms", (seconds, requeueAfterMs) => {
    expect(applied.after(seconds).plan().requeueAfterMs).toBe(requeueAfterMs);
  });

  test("one that does not report whether it has acted is read ever more seldom, one that may ignore it is never believed", () => {
    const unsure = applied.with({ ...byClass({ mayIgnoreAuthorizedCIDRs: true }), ...actedOn(...all) });
    expect(conditionOf(unsure.plan(), POLICY)).toMatchObject({ status: "Unknown", reason: "RequestedOnly" });
    expect(unsure.reconciled().after(60).plan().requeueAfterMs).toBeUndefined();
    const fixtures = [applied.with(silent(...all)), unsure].map((it) => it.reconciled());
    expect(fixtures.map(({ observed }) => needsInfrastructureObject(observed))).toEqual([true, false]);
    const waits = [60, 600, 86_400].map((seconds) => fixtures[0]?.after(seconds).plan().requeueAfterMs);
    expect(waits).toEqual([60_000, 600_000, 3_600_000]);
  });

  describe("of the list with other networks of the platform, though the specification is the same", () => {
    const before = applied.with(actedOn(...all)).reconciled();
    const { settings } = before.observed;
    const changed = before.with({ settings: { ...settings, platformCIDRs: ["203.0.113.0/24"] } });
    const corrected = changed.reconciled();
    const sent = corrected.reconciled().capiConverged();

    test("the status is corrected before the list is sent, so that no crash in between leaves it True", () => {
      expect(statusOf(before)).toBe("True");
      expect(changed.plan().write).toEqual([]);
      expect(conditionOf(changed.plan(), POLICY)).toMatchObject({ status: "False", reason: "Provisioning" });
      expect(listOf(corrected.reconciled())).toContain("203.0.113.0/24");
    });

    test("it is True again once the provider's object has the new list", () => {
      expect(needsInfrastructureObject(sent.observed)).toBe(true);
      const old = sent.reconciled();
      expect(statusOf(old)).toBe("False");
      const now = sent.with(actedOn(...(listOf(sent) as string[]))).reconciled();
      expect(statusOf(now)).toBe("True");
    });

    test("a suspended cluster keeps the list that it has, and says so", () => {
      const suspended = before
        .withSpec({ suspend: true })
        .with(actedOn(...all))
        .reconciled()
        .reconciled();
      const kept = suspended.with({ settings: changed.observed.settings }).reconciled();
      expect(listOf(kept)).toEqual(all);
      expect([statusOf(suspended), statusOf(kept)]).toEqual(["True", "True"]);
    });
  });

  test.each<[string, ClusterFixture, string, string]>([
    ["without rules there is nothing to know", aCluster().ready(), "True", "Applied"],
    ["of those that it has", applied.with(actedOn(...all)).reconciled(), "Unknown", "ClassNotFound"],
    ["of those that are to be removed", applied.withSpec({ network: {} }), "Unknown", "ClassNotFound"],
    ["of those that are new", aCluster().ready().withSpec(restricted(LIST)), "Unknown", "ClassNotFound"],
  ])(
    "of a cluster about which nothing can be decided nothing is known: %s",
    (_what, fixture, status, reason) => {
      const plan = fixture.with({ classes: new Map() }).plan();
      expect(conditionOf(plan, "Stalled")).toMatchObject({ reason: "ClassNotFound" });
      expect(conditionOf(plan, POLICY)).toMatchObject({ status, reason });
    },
  );

  test("it stays True beside a problem of something else, whose status is written once", () => {
    const unknown = applied.withSpec({ ...restricted(LIST), version: "1.99" }).with(actedOn(...all));
    const first = unknown.reconciled();
    expect(conditionOf(unknown.plan(), "Stalled")).toMatchObject({ reason: "UnknownVersion" });
    expect(conditionOf(unknown.plan(), POLICY)).toMatchObject({ status: "True" });
    expect(needsInfrastructureObject(first.observed)).toBe(false);
    expect(first.with({ infrastructure: undefined }).plan().status).toBeUndefined();
  });
});
