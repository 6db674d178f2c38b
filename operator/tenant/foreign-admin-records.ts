import { isDeepStrictEqual } from "node:util";
import { formatTime } from "../../shared/controller/time.ts";
import type { ForeignAdmins } from "../../shared/crd/cluster.ts";
import type { FoundAdmins } from "./foreign-admins.ts";

/** Remembers the administrators that were found in each tenant cluster, for the status of the cluster. */
export interface ForeignAdminRecords {
  record(key: string, found: FoundAdmins): void;
  /** Undefined for a cluster whose bindings this process has not read. */
  find(key: string): ForeignAdmins | undefined;
  forget(key: string): void;
}

interface RecordsOptions {
  now: () => Date;
  /** Called when others are found than before. */
  onChange: (key: string) => void;
}

export function createForeignAdminRecords({ now, onChange }: RecordsOptions): ForeignAdminRecords {
  const records = new Map<string, ForeignAdmins>();

  return {
    record(key, found) {
      const known = records.get(key);
      if (known !== undefined && isSameAdmins(known, found)) return;
      records.set(key, { ...found, observedAt: formatTime(now()) });
      onChange(key);
    },
    find: (key) => records.get(key),
    forget(key) {
      records.delete(key);
    },
  };
}

/** What a status says of them: as before while they are the same, and while they are not read. */
export function composeForeignAdmins(
  last: ForeignAdmins | undefined,
  found: ForeignAdmins | undefined,
): ForeignAdmins | undefined {
  if (found === undefined || (last !== undefined && isSameAdmins(last, found))) return last;
  return found;
}

function isSameAdmins(left: FoundAdmins, right: FoundAdmins): boolean {
  return left.count === right.count && isDeepStrictEqual(left.names, right.names);
}
