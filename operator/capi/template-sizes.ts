import type { Change } from "../../shared/kube/reflector.ts";
import type { MachineDeployment, MachineSet } from "./kinds.ts";
import { readTemplateSize } from "./pool-state.ts";
import type { DesiredPool } from "./worker-pool.ts";

/** More templates than a fleet has at a time: each change of a pool's machines makes one. */
const MAX_TEMPLATES = 100_000;

export interface TemplateSizes {
  /** Reads from every version of a MachineDeployment which template makes machines of which size. */
  observe(change: Change<MachineDeployment>): void;
  /**
   * The size of the machines of this MachineSet; undefined = its template was not seen while it was the current one.
   */
  find(set: MachineSet): DesiredPool["machine"] | undefined;
}

/**
 * Which size the machines of a template have, for as long as the process runs. Cluster API writes the size of a pool in
 * place on the objects of its former templates too, but gives each template a name of its own.
 */
export function createTemplateSizes(maxTemplates = MAX_TEMPLATES): TemplateSizes {
  /** Those first that were the current ones the longest time ago. */
  const sizes = new Map<string, DesiredPool["machine"]>();

  return {
    observe({ type, object }) {
      const key = toTemplateKey(object);
      const size = readTemplateSize(object);
      if (key === undefined || size === undefined || type === "deleted") return;
      sizes.delete(key);
      sizes.set(key, size);
      const [oldest] = sizes.keys();
      if (sizes.size > maxTemplates && oldest !== undefined) sizes.delete(oldest);
    },
    find(set) {
      const key = toTemplateKey(set);
      return key === undefined ? undefined : sizes.get(key);
    },
  };
}

function toTemplateKey({ metadata, spec }: MachineDeployment | MachineSet): string | undefined {
  const { infrastructureRef } = spec?.template?.spec ?? {};
  return infrastructureRef && `${metadata.namespace} ${infrastructureRef.kind} ${infrastructureRef.name}`;
}
