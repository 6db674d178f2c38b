import { isDeepStrictEqual } from "node:util";
import { formatTime } from "../../shared/controller/time.ts";
import type { ForeignAdmins } from "../../shared/crd/cluster.ts";
import type { FoundAdmins } from "./foreign-admins.ts";

/** What this process knows of the bindings in a tenant cluster; a part that it has not read is missing. */
export interface TenantRecord {
  foreignAdmins?: ForeignAdmins;
  /** The generation of the admin credentials that alone has a right. */
  credentialsGeneration?: number;
}

/** Remembers what was found in each tenant cluster, for the status of the cluster. */
export interface TenantRecords {
  recordAdmins(key: string, found: FoundAdmins): void;
  recordGeneration(key: string, generation: number): void;
  find(key: string): TenantRecord;
  forget(key: string): void;
}

interface RecordsOptions {
  now: () => Date;
  /** Called when something else is found than before. */
  onChange: (key: string) => void;
}

export function createTenantRecords({ now, onChange }: RecordsOptions): TenantRecords {
  const records = new Map<string, TenantRecord>();

  function set(key: string, part: TenantRecord): void {
    records.set(key, { ...records.get(key), ...part });
    onChange(key);
  }

  return {
    recordAdmins(key, found) {
      const known = records.get(key)?.foreignAdmins;
      if (known !== undefined && isSameAdmins(known, found)) return;
      set(key, { foreignAdmins: { ...found, observedAt: formatTime(now()) } });
    },
    recordGeneration(key, credentialsGeneration) {
      if (records.get(key)?.credentialsGeneration !== credentialsGeneration)
        set(key, { credentialsGeneration });
    },
    find: (key) => records.get(key) ?? {},
    forget(key) {
      records.delete(key);
    },
  };
}

function isSameAdmins(left: FoundAdmins, right: FoundAdmins): boolean {
  return left.count === right.count && isDeepStrictEqual(left.names, right.names);
}
