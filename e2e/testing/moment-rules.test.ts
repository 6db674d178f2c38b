import { describe, expect, test } from "vitest";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { findEventLies, findWordLies, type Sighting } from "./moment-rules.ts";

const MINUTE_MS = 60_000;
const AT = "2026-01-01T00:00:00Z";

function aPool(
  at: number,
  nodes: number,
  machines: string[] = [],
  phase: "Ready" | "Scaling" = "Ready",
): Sighting<NodePool> {
  return {
    at,
    object: {
      apiVersion: "cloud.marina.dev/v1",
      kind: "NodePool",
      metadata: { name: "web", uid: "pool", generation: 1, resourceVersion: String(at) },
      spec: {
        clusterName: "demo",
        vcpus: 2,
        memoryGB: 4,
        diskGB: 20,
        minNodes: 0,
        maxNodes: 9,
        desiredNodes: nodes,
      },
      status: {
        observedGeneration: 1,
        phase,
        nodes,
        readyNodes: nodes,
        machines: machines.map((uid) => ({ uid, name: uid, ready: true, createdAt: AT })),
      },
    },
  };
}

function anEvent(at: number, note: string, more: Partial<Event> = {}): Sighting<Event> {
  const regarding = { apiVersion: "cloud.marina.dev/v1", kind: "NodePool", name: "web", uid: "pool" };
  const metadata = { name: "web.1", namespace: "org" };
  return {
    at,
    object: {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata,
      regarding,
      reason: "Ready",
      note,
      ...more,
    } as Event,
  };
}

const toTime = (ms: number) => new Date(ms).toISOString();
const TWO = "Node pool web: Nodes ready: 2 of 2.";
const marked = (uid: string): Partial<Event> => ({
  reason: "MachineMarkedUnhealthy",
  regarding: { apiVersion: "cloud.marina.dev/v1", kind: "Cluster", name: "demo", uid: "cluster" },
  related: { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Machine", name: uid, uid },
});

describe("an Event", () => {
  test.each<[string, string | undefined, Sighting<Event>, Sighting<NodePool>[]]>([
    ["of what is so", undefined, anEvent(5, TWO), [aPool(0, 2)]],
    ["that comes before its state", undefined, anEvent(0, TWO), [aPool(5, 2)]],
    ["of what has just ended", undefined, anEvent(9, TWO), [aPool(0, 2), aPool(5, 3)]],
    ["of what was so a minute ago", "not so", anEvent(5 + MINUTE_MS, TWO), [aPool(0, 2), aPool(5, 3)]],
    [
      "that is repeated",
      "repeats",
      anEvent(9, TWO, { series: { count: 2, lastObservedTime: AT } }),
      [aPool(0, 2)],
    ],
    [
      "of a rollout at whose beginning all is done",
      "what is done",
      anEvent(0, "Nodes: 2 of 2 are up to date."),
      [],
    ],
    ["of a rollout", undefined, anEvent(0, "Nodes: 0 of 2 are up to date."), []],
    [
      "of scaling that is complete",
      "what is done",
      anEvent(0, "Scaling to 2 nodes: 2 exist, 2 are ready."),
      [],
    ],
    ["of scaling", undefined, anEvent(0, "Scaling to 3 nodes: 2 exist, 2 are ready."), []],
    ["about a sick machine", undefined, anEvent(5, "marked", marked("a")), [aPool(0, 1, ["a"])]],
    [
      "about a machine of the control plane",
      undefined,
      anEvent(5, "marked", marked("cp")),
      [aPool(0, 1, ["a"])],
    ],
    [
      "about a machine that is long gone",
      "long gone",
      anEvent(5 + MINUTE_MS, "marked", marked("a")),
      [aPool(0, 1, ["a"]), aPool(5, 1, ["b"])],
    ],
    [
      "that comes late and says when a machine was sick",
      undefined,
      anEvent(5 + MINUTE_MS, "marked", { ...marked("a"), eventTime: toTime(5) }),
      [aPool(0, 1, ["a"]), aPool(5, 1, ["b"])],
    ],
    [
      "that says a minute later that a machine is sick",
      "long gone",
      anEvent(5 + MINUTE_MS, "marked", { ...marked("a"), eventTime: toTime(5 + MINUTE_MS) }),
      [aPool(0, 1, ["a"]), aPool(5, 1, ["b"])],
    ],
  ])("%s", (_name, lie, event, pools) => {
    const lies = findEventLies([event], pools);
    expect(lies).toHaveLength(lie === undefined ? 0 : 1);
    expect(lies.join()).toContain(lie ?? "");
  });

  test.each([
    ["in words of the platform", "Update failed: uid mismatch", "holds"],
    ["with the name of an object", "Node pool web-x7k2p: it scales", "it calls web web-x7k2p"],
    ["with the address of a host", "It is at https://web-x7k2p.example.com", undefined],
    ["with the name of a machine", "Machine demo-web-x7k2p-abcde: it joined", undefined],
    ["with the name that its owner gave", "Node pool web: it scales", undefined],
  ])("%s", (_name, note, lie) => {
    const { at, object } = aPool(0, 2);
    const metadata = { ...object.metadata, name: "web-x7k2p" };
    const pool = { at, object: { ...object, metadata, spec: { ...object.spec, displayName: "web" } } };
    const status = { ...pool.object.status, message: note };
    for (const lies of [
      findEventLies([anEvent(5, note)], [pool]),
      findWordLies([{ at, object: { ...pool.object, status } }]),
    ]) {
      expect(lies).toHaveLength(lie === undefined ? 0 : 1);
      expect(lies.join()).toContain(lie ?? "");
    }
  });

  const other = { metadata: { name: "web.2", namespace: "org" } };
  const counted = (count: number, lastObservedTime: string) => ({ series: { count, lastObservedTime } });
  test.each([
    ["that says what another one has just said", anEvent(5, "it joined", other), "another Event"],
    ["that says later what another one said", anEvent(5 + MINUTE_MS, "it joined", other), undefined],
    ["that is counted on without a later time", anEvent(9, "it joined", counted(3, AT)), "not seen later"],
    ["that is counted on", anEvent(9, "it joined", counted(3, "2026-01-01T00:05:00Z")), undefined],
  ])("%s", (_name, event, lie) => {
    const lies = findEventLies([anEvent(0, "it joined", counted(2, AT)), event], []);
    expect(lies).toHaveLength(lie === undefined ? 0 : 1);
    expect(lies.join()).toContain(lie ?? "");
  });

  test.each([
    ["", 3],
    [", also of a change that comes late", 6],
  ])("that says what was so before another change%s", (_late, at) => {
    const metadata = { name: "web.3", namespace: "org" };
    const left = anEvent(at, "it left", { metadata, eventTime: toTime(3) });
    const events = [anEvent(0, "it joined"), left, anEvent(5, "it joined", other)];
    expect(
      findEventLies(
        events.toSorted((one, two) => one.at - two.at),
        [],
      ),
    ).toEqual([]);
  });
});
