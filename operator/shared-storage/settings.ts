import { type CephConnection, createCephApi } from "./ceph/api.ts";
import { createCephDriver } from "./ceph/driver.ts";
import { createDirectoryDriver } from "./directory.ts";
import type { StorageDriver } from "./driver.ts";

/** The shared storage of an installation. */
export interface StorageSettings {
  backend:
    | { kind: "directory"; root: string }
    | { kind: "ceph"; connection: CephConnection; poolPrefix: string };
  /** The limit of an organization whose inventory names none. */
  defaultQuotaBytes: number;
  /** Time between two rounds. */
  intervalSeconds: number;
}

/** The driver of the configured storage. */
export function createDriver({ backend }: StorageSettings): StorageDriver {
  return backend.kind === "directory"
    ? createDirectoryDriver(backend.root)
    : createCephDriver(createCephApi(backend.connection), backend.poolPrefix);
}
