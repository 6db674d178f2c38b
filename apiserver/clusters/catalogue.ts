import { type VersionCatalogue, versionCatalogueSchema } from "../../shared/crd/kubernetes-version.ts";
import { VERSION_CATALOGUE_CONFIG_MAP, VERSION_CATALOGUE_KEY } from "../../shared/crd/names.ts";
import {
  type ConfigMapDeps,
  type ConfigMapReader,
  createConfigMapReader,
} from "../resources/platform-config.ts";

export type CatalogueReader = ConfigMapReader<VersionCatalogue>;

/** Reads the catalogue of Kubernetes versions, a ConfigMap of the platform; before the first read it is empty. */
export function createCatalogueReader(deps: ConfigMapDeps): CatalogueReader {
  return createConfigMapReader(deps, {
    name: VERSION_CATALOGUE_CONFIG_MAP,
    key: VERSION_CATALOGUE_KEY,
    what: "the catalogue of Kubernetes versions",
    initial: [],
    parse: parseCatalogue,
  });
}

/** Throws an Error that names the fault of the ConfigMap. */
function parseCatalogue(text: string | undefined): VersionCatalogue {
  const where = `ConfigMap ${VERSION_CATALOGUE_CONFIG_MAP}, key ${VERSION_CATALOGUE_KEY}`;
  if (text === undefined) throw new Error(`${where} is missing`);
  const parsed = versionCatalogueSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new Error(`${where}: ${parsed.error.message}`);
  return parsed.data;
}
