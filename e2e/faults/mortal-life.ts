import { expect } from "vitest";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { waitFor } from "../stack/testing.ts";
import type { BareStack } from "./bare-stack.ts";
import { expectSame, type Identities, identify, LIFE, listLeftovers, type Step } from "./lifecycle.ts";
import type { OperatorProcess } from "./operator-process.ts";

/** Where the operator dies in each step of a life: with the response to its n-th write heard, or on its way. */
export interface Death {
  atWrite: number;
  response: "heard" | "lost";
}

/** What a life was like: the steps in which the operator died, and the writes of each step. */
export interface Life {
  died: Step["name"][];
  writes: Record<string, number>;
}

/** So long without a write of the operator, a world that looks done is done. */
const QUIET_MS = 250;
const STEP = { timeoutMs: 60_000, intervalMs: 40 };

/** Keeps one operator running for a life after another, and begins a new one where the last one was killed. */
export interface Keeper {
  operator: OperatorProcess;
}

/**
 * Lives the life of a cluster, with the operator killed once in each step that has so many writes; a new one goes on.
 * Fails when anything is lost, there twice or somebody else than before, and when a status lied on the way.
 */
export async function liveMortally(world: BareStack, keeper: Keeper, death: Death): Promise<Life> {
  const organization = await world.openOrganization();
  const { engineer } = organization;
  const life: Life = { died: [], writes: {} };
  let before: Identities | undefined;
  let id: string | undefined;
  try {
    for (const step of LIFE) {
      const from = world.proxy.writes.length;
      const trap = setTrap(world, keeper, death);
      await step.change(engineer);
      const isQuiet = watchQuiet(world);
      const isDone = async () => (await step.isDone(engineer)) && isQuiet();
      await waitFor(`${step.name}, or a death`, async () => trap.sprung() || (await isDone()), STEP);
      if (trap.sprung()) {
        life.died.push(step.name);
        await keeper.operator.ended();
        world.proxy.hooks = {};
        world.proxy.cut();
        keeper.operator = await world.startOperator();
      }
      world.proxy.hooks = {};
      await waitFor(`${step.name} after a death at write ${death.atWrite}`, isDone, STEP);
      life.writes[step.name] = world.proxy.writes.length - from;
      if (step.name === "delete") continue;
      const after = await identify(engineer);
      if (before !== undefined) expectSame(step.name, before, after);
      before = after;
      [id] = after.ids;
    }
    const left = () => listLeftovers(engineer, id);
    await waitFor("nothing to be left", async () => (await left()).length === 0, STEP);
    const transitions = engineer.history.of("mortal").at(-1)?.status?.transitions ?? [];
    expect(transitions.map(({ type }) => type)).toEqual(["Ready", "Upgraded"]);
    expect(
      new Set(engineer.history.of("mortal").map(({ metadata }) => metadata.labels?.[LABEL_ID] ?? id)).size,
    ).toBe(1);
    return life;
  } finally {
    await organization.close();
  }
}

/** Nothing of the operator passes any more from the moment on in which it is to die. */
function setTrap({ proxy }: BareStack, keeper: Keeper, { atWrite, response }: Death): { sprung(): boolean } {
  let left = atWrite;
  let sprung = false;
  let last: object | undefined;
  proxy.hooks = {
    before: ({ userAgent }) => (sprung && userAgent === "marina-operator" ? "hang" : undefined),
    answered(call) {
      if (sprung) return "hang";
      left -= 1;
      if (left > 0) return undefined;
      sprung = true;
      last = call;
      if (response === "heard") return undefined;
      void keeper.operator.signal("SIGKILL");
      return "hang";
    },
    heard(call) {
      if (call === last) void keeper.operator.signal("SIGKILL");
    },
  };
  return { sprung: () => sprung };
}

function watchQuiet({ proxy }: BareStack): () => boolean {
  let seen = -1;
  let since = 0;
  return () => {
    if (seen !== proxy.writes.length) {
      seen = proxy.writes.length;
      since = performance.now();
    }
    return performance.now() - since >= QUIET_MS;
  };
}
