import type { Deps } from "../deps.ts";
import { dependencyUnavailable } from "../http/errors.ts";
import { BackendError } from "./backend/backend.ts";
import { createBackend } from "./backend/create-backend.ts";
import { hasImages } from "./images.ts";
import { repositoryPrefix } from "./names.ts";
import { mayHaveImages } from "./pushes/store.ts";

/**
 * Whether an organization has images; false without a registry. One that nobody could push for has none, which needs no
 * registry; Harbor has accounts of its own and is always asked. Throws 503 when the registry is needed and cannot be used.
 */
export function createImageCheck({
  config,
  db,
  now,
}: Pick<Deps, "config" | "db" | "now">): (orgId: string) => Promise<boolean> {
  const { registry } = config;
  if (registry === undefined) return () => Promise.resolve(false);
  const backend = createBackend(registry, now);
  return async (orgId) => {
    if (registry.kind === "distribution" && !(await mayHaveImages(db, orgId))) return false;
    try {
      return await hasImages(backend, repositoryPrefix(orgId));
    } catch (error) {
      if (error instanceof BackendError) throw dependencyUnavailable("The registry", error);
      throw error;
    }
  };
}
