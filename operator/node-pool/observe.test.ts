import { expect, test } from "vitest";
import type { Event } from "../../shared/kube/core-kinds.ts";
import { findMissedRemediations } from "./observe.ts";
import { aPool, makeMachine } from "./testing.ts";

function eventOf(reason: string, regarding: NonNullable<Event["regarding"]>, note = ""): Event {
  return { metadata: { name: reason, namespace: "org-a" }, reason, regarding, note } as Event;
}

const marked = eventOf("MachineMarkedUnhealthy", { kind: "Machine", uid: "uid-two" });
const scaledDown = eventOf("SuccessfulDelete", { kind: "MachineSet" }, 'Deleted machine "two"');

test.each([
  ["a machine that is deleted and was marked", ["one"], [marked], ["uid-two"]],
  ["no machine that is still there", ["one", "two"], [marked], []],
  ["no machine that was scaled down", ["one"], [marked, scaledDown], []],
  ["no machine without an Event", ["one"], [], []],
])(
  "of the machines in the status %s counts as a remediation that was missed",
  (_name, left, events, uids) => {
    const { pool } = aPool().with({}).observed;
    const machines = ["one", "two"].map((name) => ({ uid: `uid-${name}`, name, node: `node-${name}` }));
    const known = { ...pool, status: { phase: "Ready" as const, machines } } as typeof pool;
    const found = findMissedRemediations(
      { events: { byIndex: () => events } },
      known,
      left.map((name) => makeMachine(name)),
    );
    expect([...found]).toEqual(uids);
  },
);
