import { MANAGER_APISERVER, PACKAGES_CONFIG_MAP, PACKAGES_KEY } from "../../../shared/crd/names.ts";
import type { Packages } from "../../../shared/crd/packages.ts";
import { configMapKind } from "../../../shared/kube/core-kinds.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import type { Deps } from "../../deps.ts";
import { readPackages, readRetirements } from "./store.ts";

const REQUEST_TIMEOUT_MS = 2000;

type PublishDeps = Pick<Deps, "kube" | "db" | "config" | "log">;

/** Publishes the packages within 2 s; otherwise the periodic job does it. Does not throw. */
export async function publishPackagesSoon(deps: PublishDeps): Promise<void> {
  try {
    await publishPackages(deps, { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    const message = messageOf(error);
    deps.log.warn({ message }, "the packages are not published yet; the job retries");
  }
}

/** Writes the ConfigMap that the operator reads, unless it is as it should be. Rejects with a KubeError. */
export async function publishPackages(
  { kube, db, config, log }: PublishDeps,
  options: { timeoutMs?: number; signal?: AbortSignal },
): Promise<void> {
  const namespace = config.platformNamespace;
  const text = JSON.stringify(await composePackages(db));
  const live = await kube.get(configMapKind, namespace, PACKAGES_CONFIG_MAP, options);
  if (live?.data?.[PACKAGES_KEY] === text) return;
  const desired = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: PACKAGES_CONFIG_MAP, namespace },
    data: { [PACKAGES_KEY]: text },
  };
  await kube.apply(configMapKind, desired, { fieldManager: MANAGER_APISERVER, force: true, ...options });
  log.info("published the packages");
}

async function composePackages(db: Deps["db"]): Promise<Packages> {
  const retirements = await readRetirements(db);
  const entries = (await readPackages(db)).map(({ slug, controlPlaneReplicas }) => {
    const retiredAt = retirements.get(slug)?.toISOString();
    return [slug, { controlPlaneReplicas, ...(retiredAt && { retiredAt }) }] as const;
  });
  return Object.fromEntries(entries);
}
