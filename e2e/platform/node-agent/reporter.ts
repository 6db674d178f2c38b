import { KubeError } from "../../../shared/kube/errors.ts";
import { type Context, FIELD_MANAGER } from "./context.ts";
import { type Pod, type PodStatus, podKind } from "./kinds.ts";

/** Writes something again and again. */
export interface Reporter {
  /** Writes soon; calls during a write become one write after it. */
  request(): void;
  /** Resolves when nothing is left to be written. */
  settled(): Promise<void>;
}

export function createReporter(write: () => Promise<void>, onError: (error: unknown) => void): Reporter {
  let running: Promise<void> | undefined;
  let isDue = false;
  async function run(): Promise<void> {
    while (isDue) {
      isDue = false;
      await write().catch(onError);
    }
    running = undefined;
  }
  return {
    request() {
      isDue = true;
      running ??= run();
    },
    settled: async () => running,
  };
}

/** Writes the status of a Pod, unless it is deleted or another one has its name; returns what is stored. */
export async function writeStatus(
  { client }: Context,
  { metadata: { name, namespace, uid } }: Pod,
  status: PodStatus,
): Promise<PodStatus | undefined> {
  const options = { subresource: "status", fieldManager: FIELD_MANAGER } as const;
  try {
    const patch = { metadata: { uid }, status };
    return (await client.mergePatch(podKind, namespace, name, patch, options)).status;
  } catch (error) {
    if (error instanceof KubeError && (error.isNotFound || error.isConflict)) return undefined;
    throw error;
  }
}
