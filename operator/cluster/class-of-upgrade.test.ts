import { describe, expect, test } from "vitest";
import { ALL_VARIABLES, makeClass } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import { actions, running, SHORTER, settleWhole, sizeCause, type Validate } from "./testing-rejections.ts";

describe("the class of an upgrade lacks what the cluster uses", () => {
  const v2 = { class: "standard-v2", namespace: "marina-system", controlPlaneReplicas: 1 };
  const without = (...names: string[]) => ({
    classes: new Map([
      ["marina-system/standard-v1", makeClass()],
      ["marina-system/standard-v2", makeClass(ALL_VARIABLES.filter((name) => !names.includes(name)))],
    ]),
    settings: { ...running.observed.settings, servicePlans: { default: v2 } },
  });
  const withWish = (spec: Parameters<typeof aCluster>[0]) =>
    aCluster(spec)
      .withPools(...running.observed.pools.map(({ pool }) => pool))
      .ready();
  const limited = withWish({ network: { apiServerRateLimit: { maxConnectionsPerSecond: 5, burst: 10 } } });
  const isPrivate = withWish({ publicEndpoint: false });

  test.each<[string, ClusterFixture, string]>([
    ["authorized CIDRs", running, "authorizedCIDRs"],
    ["a rate limit of the API server", limited, "apiServerRateLimit"],
    ["a private endpoint", isPrivate, "publicEndpoint"],
  ])("%s: it keeps its class and version, and everything else goes on", (what, fixture, variable) => {
    const upgraded = fixture.with(without(variable)).withSpec({ version: "1.35" });
    for (const name of ["another pool is scaled", "a pool is deleted"]) {
      const { act, seen, is } = actions[name] ?? {};
      const { applied, status } = settleWhole(act?.(upgraded) ?? upgraded, () => undefined);
      expect(applied).toMatchObject({ version: "v1.34.2", classRef: { name: "standard-v1" } });
      expect(applied && seen?.(applied)).toBe(is);
      const message = expect.stringContaining(`standard-v2 does not support ${what}`);
      expect(status?.unapplied).toEqual([{ field: "version", reason: "UnsupportedByClass", message }]);
      expect(status?.targetVersion).toBe("1.34.2");
    }
    const { applied } = settleWhole(fixture.with(without()).withSpec({ version: "1.35" }), () => undefined);
    expect(applied).toMatchObject({ version: "v1.35.1", classRef: { name: "standard-v2" } });
  });

  test("a pool that the newer class does not allow holds up the upgrade alone", () => {
    const validate: Validate = (sent) =>
      sent.classRef.name === "standard-v2" ? sizeCause("gpu") : undefined;
    const upgraded = running.with(without()).withSpec({ version: "1.35", ...SHORTER });
    const { applied, status } = settleWhole(upgraded, validate);
    expect(applied).toMatchObject({ version: "v1.34.2", classRef: { name: "standard-v1" } });
    expect(applied && actions["the list of networks is shortened"]?.seen(applied)).toBe(false);
    expect(status?.unapplied).toEqual([
      { field: "version", reason: "RejectedByClusterAPI", message: expect.stringContaining("on offer") },
    ]);
    expect(status?.conditions?.find(({ type }) => type === "Stalled")?.reason).toBe("RejectedByClusterAPI");
  });
});
