import { kubectl, waitFor } from "../../platform/stack/testing.ts";
import type { GitRepository } from "./git-server.ts";

interface Sync {
  metadata: { generation: number };
  status?: {
    observedGeneration?: number;
    lastHandledReconcileAt?: string;
    lastAttemptedRevision?: string;
    conditions?: {
      type: string;
      status: string;
      reason: string;
      message: string;
      observedGeneration: number;
    }[];
  };
}

/** Until Flux has applied, or tried, what the repository has now, and says so with this status of Ready of the Kustomization `clusters`. */
export async function waitForSync(
  namespace: string,
  repository: GitRepository,
  status: "True" | "False",
  message: RegExp,
): Promise<void> {
  const requested = `reconcile.fluxcd.io/requestedAt=${new Date().toISOString()}`;
  for (const name of ["gitrepository/clusters", "kustomization/clusters"])
    await kubectl(["annotate", name, "-n", namespace, requested, "--overwrite"]);
  const revision = `main@sha1:${await repository.revision()}`;
  await waitFor(`Ready=${status} of ${revision}`, async () => {
    const { stdout } = await kubectl(["get", "kustomization/clusters", "-n", namespace, "-o", "json"]);
    const { metadata, status: found }: Sync = JSON.parse(stdout);
    const ready = found?.conditions?.find(({ type }) => type === "Ready");
    const isTried =
      found?.lastAttemptedRevision === revision && ready?.observedGeneration === metadata.generation;
    return isTried && ready.status === status && message.test(ready.message);
  });
}
