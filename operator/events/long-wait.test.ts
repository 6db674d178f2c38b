import { expect, test } from "vitest";
import { findLongWait } from "./long-wait.ts";

const MESSAGE = "0 of 1 node is ready: it is held.";

function aStatus(ready: "True" | "False", reason: string, message = MESSAGE) {
  const rest = { message, lastTransitionTime: "2026-05-01T12:00:00Z", observedGeneration: 1 };
  const conditions = [
    { type: "Ready", status: ready, reason: "Any", ...rest },
    { type: "Reconciling", status: "True" as const, reason, ...rest },
  ];
  return { message, conditions };
}

const waiting = aStatus("False", "WaitingForNodes");
const short = { ...waiting, message: undefined };

test.each([
  { name: "that is reported for the first time", last: short, next: waiting, reason: "WaitingForNodes" },
  {
    name: "for something else than before",
    last: aStatus("False", "WaitingForControlPlane"),
    next: waiting,
    reason: "WaitingForNodes",
  },
  { name: "that is reported already", last: waiting, next: waiting, reason: undefined },
  { name: "that has only begun", last: undefined, next: short, reason: undefined },
  { name: "that is slow by nature", last: short, next: aStatus("False", "RollingOut"), reason: undefined },
  { name: "for a deletion", last: short, next: aStatus("False", "Deleting"), reason: undefined },
  { name: "for what is being made", last: short, next: aStatus("False", "Provisioning"), reason: undefined },
  {
    name: "of what has become ready this moment",
    last: waiting,
    next: aStatus("True", "Provisioning"),
    reason: undefined,
  },
  {
    name: "of what has been ready",
    last: aStatus("True", "Scaling"),
    next: aStatus("True", "Provisioning"),
    reason: "Provisioning",
  },
])("a wait $name", ({ last, next, reason }) => {
  expect(findLongWait(last, next)?.reason).toBe(reason);
});

test.each<[string, object, string, string, boolean?]>([
  ["of nodes that were there before", { firstReadyAt: "2026-05-01T12:00:00Z" }, "WaitingForNodes", "Warning"],
  ["of the first nodes, which take as long as their provider does", {}, "WaitingForNodes", "Normal"],
  ["of a creation that something keeps back", {}, "Suspended", "Warning"],
  ["for machines that take their time", {}, "Scaling", "Normal", true],
  ["for machines of which one takes too long", {}, "NodeStartupTimeout", "Warning"],
])("the Event of a wait %s has its type", (_, status, reason, type, takesItsTime = false) => {
  const next = { ...aStatus("False", reason), ...status };
  expect(findLongWait(short, next, { takesItsTime })?.type).toBe(type);
});

test.each([
  ["from its beginning", short, "DrainingNode"],
  ["after it was reported", { ...aStatus("False", "Deleting"), message: "1 is left." }, "DrainingNode"],
  ["as it was before", aStatus("False", "DrainingNode"), undefined],
  ["by the same for another cause", aStatus("False", "DrainingNode", "it is held: b."), undefined],
])("a deletion that is held up %s", (_, last, reason) => {
  expect(findLongWait(last, aStatus("False", "DrainingNode"))?.reason).toBe(reason);
});
