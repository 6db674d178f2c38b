import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { createBackend } from "./backend/access.ts";
import { purgeEndedCredentials } from "./credentials/store.ts";
import { sweepFullOrganizations, sweepRegistry } from "./scans/sweep.ts";

const SWEEP_EVERY_MS = 3_600_000;
const FULL_EVERY_MS = 60_000;

/**
 * The jobs that find images missing from the registry's notifications, measure the storage of images, and delete the
 * credentials of deleted clusters. Without a registry there are none.
 */
export function registryJobs(deps: Deps): PeriodicJob[] {
  const { registry } = deps.config;
  if (registry === undefined) return [];
  const backend = createBackend(registry, deps.now);
  return [
    {
      name: "unscanned-images",
      everyMs: SWEEP_EVERY_MS,
      run: (signal) => sweepRegistry(deps, backend, signal),
    },
    {
      name: "full-registries",
      everyMs: FULL_EVERY_MS,
      run: (signal) => sweepFullOrganizations({ ...deps, limits: registry.limits }, backend, signal),
    },
    {
      name: "purge-registry-credentials",
      everyMs: SWEEP_EVERY_MS,
      run: () => purgeEndedCredentials(deps.db),
    },
  ];
}
