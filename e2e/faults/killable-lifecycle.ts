import { expect } from "vitest";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { waitFor } from "../platform/stack/testing.ts";
import type { BareStack } from "./bare-stack.ts";
import { expectSame, type Identities, identify, LIFECYCLE, listLeftovers, type Step } from "./lifecycle.ts";
import type { OperatorProcess } from "./operator-process.ts";

/** When the operator is killed in each step: at its n-th write, with the response received or lost. */
export interface Kill {
  atWrite: number;
  response: "received" | "lost";
}

/** The steps in which the operator was killed, and the number of writes of each step. */
export interface Outcome {
  killedIn: Step["name"][];
  writes: Record<string, number>;
}

/** A lifecycle step is complete when its state is reached and the operator has not written for this long. */
const QUIET_MS = 250;
const STEP = { intervalMs: 200 };

/** Holds the running operator, which is replaced after every kill. */
export interface OperatorHolder {
  operator: OperatorProcess;
}

/**
 * Takes a cluster through its lifecycle and kills the operator once in each step that has so many writes; a new one
 * continues. Fails when an object is lost, duplicated or replaced, or when a status was wrong on the way.
 */
export async function runLifecycleWithKills(
  bare: BareStack,
  holder: OperatorHolder,
  kill: Kill,
): Promise<Outcome> {
  const organization = await bare.openOrganization();
  const { engineer } = organization;
  const outcome: Outcome = { killedIn: [], writes: {} };
  let before: Identities | undefined;
  let id: string | undefined;
  try {
    for (const step of LIFECYCLE) {
      const from = bare.proxy.writes.length;
      const trap = setTrap(bare, holder, kill);
      await step.change(engineer);
      const isQuiet = watchQuiet(bare);
      const isDone = async () => (await step.isDone(engineer)) && isQuiet();
      await waitFor(`${step.name}, or a kill`, async () => trap.sprung() || (await isDone()), STEP);
      if (trap.sprung()) {
        outcome.killedIn.push(step.name);
        await holder.operator.ended();
        bare.proxy.hooks = {};
        bare.proxy.cut();
        holder.operator = await bare.startOperator();
      }
      bare.proxy.hooks = {};
      await waitFor(`${step.name} after a kill at write ${kill.atWrite}`, isDone, STEP);
      outcome.writes[step.name] = bare.proxy.writes.length - from;
      if (step.name === "delete") continue;
      const after = await identify(engineer);
      if (before !== undefined) expectSame(step.name, before, after);
      before = after;
      [id] = after.ids;
    }
    const left = () => listLeftovers(engineer, id);
    await waitFor("no leftovers", async () => (await left()).length === 0, STEP);
    const history = engineer.history.of("sample");
    const transitions = history.at(-1)?.status?.transitions ?? [];
    expect(transitions.map(({ type }) => type)).toEqual(["Ready", "Upgraded"]);
    expect(new Set(history.map(({ metadata }) => metadata.labels?.[LABEL_ID] ?? id)).size).toBe(1);
    return outcome;
  } finally {
    await organization.close();
  }
}

/** From the moment of the kill on, the proxy forwards nothing of the operator. */
function setTrap(
  { proxy }: BareStack,
  holder: OperatorHolder,
  { atWrite, response }: Kill,
): { sprung(): boolean } {
  let left = atWrite;
  let sprung = false;
  let last: object | undefined;
  proxy.hooks = {
    before: ({ userAgent }) => (sprung && userAgent === "marina-operator" ? "hang" : undefined),
    afterWrite(call) {
      if (sprung) return "hang";
      left -= 1;
      if (left > 0) return undefined;
      sprung = true;
      last = call;
      if (response === "received") return undefined;
      void holder.operator.signal("SIGKILL");
      return "hang";
    },
    delivered(call) {
      if (call === last) void holder.operator.signal("SIGKILL");
    },
  };
  return { sprung: () => sprung };
}

function watchQuiet({ proxy }: BareStack): () => boolean {
  let writes = -1;
  let since = 0;
  return () => {
    if (writes !== proxy.writes.length) {
      writes = proxy.writes.length;
      since = performance.now();
    }
    return performance.now() - since >= QUIET_MS;
  };
}
