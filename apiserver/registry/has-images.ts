import type { Deps } from "../deps.ts";
import { dependencyUnavailable } from "../http/errors.ts";
import { BackendError } from "./backend/backend.ts";
import { createBackend } from "./backend/create-backend.ts";
import { hasImages } from "./images.ts";
import { repositoryPrefix } from "./names.ts";

/** Whether an organization has images; false without a registry. Throws 503 when the registry cannot be used. */
export function createImageCheck({
  config,
  now,
}: Pick<Deps, "config" | "now">): (orgId: string) => Promise<boolean> {
  const { registry } = config;
  if (registry === undefined) return () => Promise.resolve(false);
  const backend = createBackend(registry, now);
  return async (orgId) => {
    try {
      return await hasImages(backend, repositoryPrefix(orgId));
    } catch (error) {
      if (error instanceof BackendError) throw dependencyUnavailable("The registry", error);
      throw error;
    }
  };
}
