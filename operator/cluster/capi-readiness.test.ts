import { describe, expect, test } from "vitest";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { makePool } from "../testing.ts";
import { aCluster, type ClusterFixture } from "../testing-cluster.ts";
import type { ObservedClusterPool } from "./observe.ts";

const running = aCluster().withPools(makePool("web")).ready();

function withWeb(fixture: ClusterFixture, change: Partial<ObservedClusterPool>): ClusterFixture {
  const pools = fixture.observed.pools.map((one) => ({ ...one, ...change }));
  return fixture.with({ pools });
}

/** Its MachineDeployment does not have the finalizers of both controllers yet. */
function comingIn(fixture: ClusterFixture): ClusterFixture {
  const [web] = fixture.observed.pools;
  if (web?.machineDeployment === undefined) throw new Error("Cluster API has no pool in this fixture");
  return withWeb(fixture, { machineDeployment: { ...web.machineDeployment, hasBothFinalizers: false } });
}

/** Cluster API has not acted on its object as it stands. */
function unobserved(fixture: ClusterFixture): ClusterFixture {
  const object = fixture.capiObject();
  return fixture.withCapi({ ...object, metadata: { ...object.metadata, generation: 99 } });
}

const withoutDeployment = (fixture: ClusterFixture) => withWeb(fixture, { machineDeployment: undefined });

function deletesCapi(fixture: ClusterFixture): boolean {
  return fixture.plan().remove.some(({ kind }) => kind === capiClusterKind);
}

describe("Cluster API deletes a cluster", () => {
  const deleting = running.deleting();

  test.each<[string, boolean, ClusterFixture]>([
    ["at once when its pools have their finalizers", true, deleting],
    ["not while a pool has none", false, comingIn(deleting)],
    ["not while it may be creating one", false, withoutDeployment(unobserved(deleting))],
    ["while a pool waits for its control plane", true, withoutDeployment(deleting)],
    ["after 30 s, whatever blocks it", true, comingIn(deleting).after(30)],
    ["when the deletion timestamp is in the future: a clock is wrong", true, comingIn(deleting).after(-1)],
  ])("%s", (_name, deleted, fixture) => {
    expect(deletesCapi(fixture)).toBe(deleted);
  });

  test("when the wait is over; its pools are deleted before, and the status does not claim a deletion", () => {
    const plan = comingIn(deleting).after(10).plan();
    expect(plan.requeueAfterMs).toBe(20_000);
    expect(plan.remove.map(({ verb, kind }) => `${verb} ${kind.plural}`)).toEqual(["delete nodepools"]);
    const ready = plan.status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({
      reason: "Deleting",
      message: "The deletion is being passed on to Cluster API.",
    });
  });
});

describe("a pool that is being deleted", () => {
  const deletionTimestamp = running.now.toISOString();
  const pool = makePool("web", {}, { deletionTimestamp });
  const going = withWeb(running, { pool });

  const staysIn = (fixture: ClusterFixture): boolean => {
    const step = fixture.plan().write.find(({ kind }) => kind === capiClusterKind);
    // Nothing to apply: it is as it was.
    if (step?.verb !== "apply") return true;
    const { spec } = step.object as CapiCluster;
    return spec?.topology?.workers?.machineDeployments?.some(({ name }) => name === "web") === true;
  };

  test.each<[string, boolean, ClusterFixture]>([
    ["leaves the topology at once when it has its finalizers", false, going],
    ["stays while it has none", true, comingIn(going)],
    ["stays while Cluster API may be creating it", true, withoutDeployment(unobserved(going))],
    ["leaves at once while it waits for its control plane", false, withoutDeployment(going)],
    ["leaves after 30 s, whatever blocks it", false, comingIn(going).after(30)],
    ["leaves when its deletion timestamp is in the future", false, comingIn(going).after(-1)],
  ])("%s", (_name, stays, fixture) => {
    expect(staysIn(fixture)).toBe(stays);
  });

  test("is requeued when the wait is over", () => {
    expect(comingIn(going).after(10).plan().requeueAfterMs).toBe(20_000);
  });

  test("does not return to a topology that it has left", () => {
    const left = going.reconciled();
    expect(left.capiObject().spec?.topology?.workers).toBeUndefined();
    expect(comingIn(left).plan().write).toEqual([]);
  });
});
