import { createDirectoryDriver } from "./directory.ts";
import type { StorageDriver } from "./driver.ts";

/** The shared storage of an installation. */
export interface StorageSettings {
  backend: { kind: "directory"; root: string };
  /** The limit of an organization without one of its own. */
  defaultQuotaBytes: number;
  /** Time between two rounds. */
  intervalSeconds: number;
}

/** The driver of the configured storage. */
export function createDriver({ backend }: StorageSettings): StorageDriver {
  return createDirectoryDriver(backend.root);
}
