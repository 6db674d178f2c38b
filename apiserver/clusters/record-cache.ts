import { LRUCache } from "lru-cache";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import type { Deps } from "../deps.ts";
import { objectTag } from "../http/contract/etag.ts";
import { type JsonOf, toJson } from "../http/contract/json-of.ts";
import { findClusterVersion, type VersionedCluster } from "../projection/store.ts";
import { requireCluster } from "./live.ts";
import { type ClusterRecord, presentCluster } from "./present-cluster.ts";
import type { CatalogueReader } from "./version-catalogue.ts";

/** A record as it is answered. */
interface ServedRecord {
  etag: string;
  json: JsonOf<ClusterRecord>;
}

interface KeptRecord extends ServedRecord {
  orgId: string;
  /** What it was made of. */
  rowVersion: string;
  catalogue: VersionCatalogue;
}

/** Some 15,000 records of 2 KB. */
const MAX_KEPT_BYTES = 32 * 2 ** 20;
/** Of an entry without its text. */
const ENTRY_BYTES = 300;

/** Reads the record of a cluster of the organization. Throws 404. */
export type RecordReader = (orgId: string, clusterId: string) => Promise<ServedRecord>;

/**
 * Keeps the text of records that were read, for most are read again and again as they are. Each time Postgres is asked
 * whether the row is still the one that the text was made of, so nothing old is ever served; that is a fifth cheaper
 * than to read, parse and write the record anew.
 */
export function createRecordReader(deps: Pick<Deps, "db">, catalogue: CatalogueReader): RecordReader {
  const kept = new LRUCache<string, KeptRecord>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: ({ json }) => ENTRY_BYTES + json.length,
  });
  return async (orgId, clusterId) => {
    const versions = await catalogue.readKnown();
    const known = kept.get(clusterId);
    if (known?.orgId === orgId && known.catalogue === versions) {
      if ((await findClusterVersion(deps.db, clusterId)) === known.rowVersion) return known;
    }
    const made = makeRecord(await requireCluster(deps, orgId, clusterId), versions);
    kept.set(clusterId, made);
    return made;
  };
}

function makeRecord(cluster: VersionedCluster, catalogue: VersionCatalogue): KeptRecord {
  const { orgId, rowVersion } = cluster;
  const etag = objectTag(cluster.object.metadata);
  return { orgId, rowVersion, catalogue, etag, json: toJson(presentCluster(cluster, catalogue)) };
}
