import { isDeepStrictEqual } from "node:util";
import type { CapiMachineTemplate, Machine, MachineDeployment, MachineSet } from "./kinds.ts";

/**
 * Whether Cluster API replaces a machine because its MachineSet has another template than the MachineDeployment has now, by
 * the comparison of Cluster API itself (`MachineTemplateUpToDate`). The settings hash does not show it: it is written in place
 * on such machines too. The three objects come from caches that follow each other by chance. Undefined = not known yet: a
 * MachineSet is not seen yet, or the newest one differs, which may be that of a MachineDeployment that is seen late.
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
  if (isDeepStrictEqual(pickTemplate(set)?.spec, pickTemplate(deployment)?.spec)) return false;
  const createdAt = (it: MachineSet) => it.metadata.creationTimestamp ?? "";
  return sets.some((other) => createdAt(other) > createdAt(set)) ? true : undefined;
}

/** The part of a template that decides about replacements. */
export function pickTemplate({
  spec,
}: MachineDeployment | MachineSet): { spec: CapiMachineTemplate } | undefined {
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
