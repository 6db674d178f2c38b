import { isDeepStrictEqual } from "node:util";
import type { EngineMachineTemplate, Machine, MachineDeployment, MachineSet } from "./kinds.ts";

/**
 * Whether Cluster API replaces a machine because its MachineSet has another template than the MachineDeployment has now, by
 * the comparison of Cluster API itself (`MachineTemplateUpToDate`). The settings hash does not tell: it is written in place
 * on such machines too. The three objects come from caches that follow each other by chance, and every order is safe: a
 * MachineDeployment that is not seen yet lacks the new hash, a MachineSet that is not seen yet gives undefined.
 */
export function isOfOtherTemplate(
  machine: Machine,
  deployment: MachineDeployment | undefined,
  sets: readonly MachineSet[],
): boolean | undefined {
  const owner = machine.metadata.ownerReferences?.find(({ kind }) => kind === "MachineSet");
  if (owner === undefined || deployment === undefined) return false;
  const set = sets.find(({ metadata }) => metadata.uid === owner.uid);
  if (set === undefined) return undefined;
  return !isDeepStrictEqual(pickTemplate(set)?.spec, pickTemplate(deployment)?.spec);
}

/** The part of a template that decides about replacements. */
export function pickTemplate({
  spec,
}: MachineDeployment | MachineSet): { spec: EngineMachineTemplate } | undefined {
  const template = spec?.template?.spec;
  if (template === undefined) return undefined;
  const { version, failureDomain, infrastructureRef, bootstrap } = template;
  return {
    spec: {
      ...(version !== undefined && { version }),
      ...(failureDomain !== undefined && { failureDomain }),
      ...(infrastructureRef && { infrastructureRef }),
      ...(bootstrap?.configRef && { bootstrap: { configRef: bootstrap.configRef } }),
    },
  };
}
