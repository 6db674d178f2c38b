import { waitFor } from "../platform/stack/testing.ts";
import type { BareStack, Organization } from "./bare-stack.ts";
import { type Identities, identify, LIFECYCLE, type Step } from "./lifecycle.ts";

const STEP = { intervalMs: 200 };

/** A cluster that has converged after its creation, with the identities of its objects. */
export interface ConvergedCluster extends Organization {
  identities: Identities;
  /** Makes the change of a lifecycle step and waits until it is done. */
  run(name: Step["name"]): Promise<void>;
}

/** Creates a cluster in a new organization and waits until it has converged. */
export async function createConvergedCluster(
  bare: BareStack,
  options: { tolerated?: RegExp } = {},
): Promise<ConvergedCluster> {
  const organization = await bare.openOrganization(options);
  const { engineer } = organization;
  async function run(name: Step["name"]): Promise<void> {
    const step = getStep(name);
    await step.change(engineer);
    await waitFor(`${name} to be done`, () => step.isDone(engineer), STEP);
  }
  await run("create");
  return { ...organization, run, identities: await identify(engineer) };
}

export function getStep(name: Step["name"]): Step {
  const step = LIFECYCLE.find((one) => one.name === name);
  if (step === undefined) throw new Error(`no step ${name}`);
  return step;
}
