import { waitFor } from "../stack/testing.ts";
import type { BareStack, Organization } from "./bare-stack.ts";
import { type Identities, identify, LIFE, type Step } from "./lifecycle.ts";

const SOON = { timeoutMs: 60_000, intervalMs: 50 };

/** A cluster that has come to rest, with what it consists of. */
export interface SettledCluster extends Organization {
  identities: Identities;
  /** Carries a step of its life out and waits for its end. */
  live(name: Step["name"]): Promise<void>;
}

/** Makes a cluster in an organization of its own. */
export async function settleCluster(world: BareStack): Promise<SettledCluster> {
  const organization = await world.openOrganization();
  const { engineer } = organization;
  async function live(name: Step["name"]): Promise<void> {
    const step = stepOf(name);
    await step.change(engineer);
    await waitFor(`${name} to be done`, () => step.isDone(engineer), SOON);
  }
  await live("create");
  return { ...organization, live, identities: await identify(engineer) };
}

export function stepOf(name: Step["name"]): Step {
  const step = LIFE.find((one) => one.name === name);
  if (step === undefined) throw new Error(`no step ${name}`);
  return step;
}
