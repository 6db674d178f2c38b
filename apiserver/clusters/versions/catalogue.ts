import { setTimeout as sleep } from "node:timers/promises";
import { type VersionCatalogue, versionCatalogueSchema } from "../../../shared/crd/kubernetes-version.ts";
import { VERSION_CATALOGUE_CONFIG_MAP, VERSION_CATALOGUE_KEY } from "../../../shared/crd/names.ts";
import { configMapKind } from "../../../shared/kube/core-kinds.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import { runForAll } from "../../../shared/program/tenant-context.ts";
import type { Deps } from "../../deps.ts";
import { dependencyUnavailable } from "../../http/errors.ts";

const MAX_AGE_MS = 30_000;
/** How long a response that can do without the catalogue waits for the first read. */
const FIRST_READ_MS = 2_000;
/** After a failed read the next one in the background waits this long: each request would retry and log otherwise. */
const RETRY_AFTER_MS = 5_000;

export interface CatalogueReader {
  /** For a write: at most 30 s old. Throws 503 when the catalogue cannot be read. */
  read(): Promise<VersionCatalogue>;
  /** For a read: the last one known, refreshed in the background at most every 5 s while that fails; empty before the first read. */
  readKnown(): Promise<VersionCatalogue>;
}

/**
 * Reads the catalogue of Kubernetes versions, a ConfigMap of the platform, and keeps it for 30 s.
 */
export function createCatalogueReader(
  deps: Pick<Deps, "kube" | "now" | "log"> & { config: Pick<Deps["config"], "platformNamespace"> },
): CatalogueReader {
  let known: { catalogue: VersionCatalogue; atMs: number } | undefined;
  let running: Promise<VersionCatalogue> | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;

  async function fetchCatalogue(): Promise<VersionCatalogue> {
    const namespace = deps.config.platformNamespace;
    const map = await deps.kube.get(configMapKind, namespace, VERSION_CATALOGUE_CONFIG_MAP);
    const catalogue = parseCatalogue(map?.data?.[VERSION_CATALOGUE_KEY]);
    known = { catalogue, atMs: deps.now().getTime() };
    return catalogue;
  }

  /** Reads and writes share it, so it is not cut off after the time that a read waits. */
  function refresh(): Promise<VersionCatalogue> {
    running ??= runForAll(() => fetchCatalogue())
      .catch(noteFailure)
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  function noteFailure(error: unknown): never {
    failedAtMs = deps.now().getTime();
    const message = messageOf(error);
    deps.log.warn({ message }, "the catalogue of Kubernetes versions cannot be read");
    throw error;
  }

  const isFresh = () => known !== undefined && deps.now().getTime() - known.atMs < MAX_AGE_MS;
  const hasJustFailed = () => deps.now().getTime() - failedAtMs < RETRY_AFTER_MS;

  return {
    async read() {
      if (known !== undefined && isFresh()) return known.catalogue;
      try {
        return await refresh();
      } catch (error) {
        throw dependencyUnavailable("The catalogue of Kubernetes versions", error);
      }
    },
    async readKnown() {
      const isDue = !isFresh() && !hasJustFailed();
      const refreshed = isDue ? refresh().catch(() => undefined) : undefined;
      if (known !== undefined) return known.catalogue;
      const waited = sleep(FIRST_READ_MS, undefined, { ref: false });
      return (await Promise.race([refreshed, waited])) ?? [];
    },
  };
}

/** Throws an Error that names the fault of the ConfigMap. */
function parseCatalogue(text: string | undefined): VersionCatalogue {
  const where = `ConfigMap ${VERSION_CATALOGUE_CONFIG_MAP}, key ${VERSION_CATALOGUE_KEY}`;
  if (text === undefined) throw new Error(`${where} is missing`);
  const parsed = versionCatalogueSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${where}: ${parsed.error.message}`);
  return parsed.data;
}
