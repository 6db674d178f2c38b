import { existsSync } from "node:fs";
import { messageOf } from "../../../shared/program/errors.ts";
import type { Logger } from "../../../shared/program/log.ts";

/** State of the kube-apiserver that reports the desired version. */
export type ApiserverBinary =
  | { state: "linked" }
  | { state: "absent" }
  | { state: "linking" }
  | { state: "failed"; message: string };

/** The kube-apiservers of all versions, linked at their first use. */
export interface Versions {
  get(version: string): ApiserverBinary;
  /** Starts to link one, one at a time; does nothing when it is already in progress. */
  link(version: string): void;
  pathOf: (version: string) => string;
}

export interface VersionsOptions {
  pathOf: (version: string) => string;
  link: (version: string) => Promise<void>;
  /** Called after each attempt. */
  onEnd: (version: string) => void;
  log: Logger;
}

export function createVersions({ pathOf, link, onEnd, log }: VersionsOptions): Versions {
  const underWay = new Set<string>();
  const failures = new Map<string, string>();
  let last: Promise<void> = Promise.resolve();

  async function linkNow(version: string): Promise<void> {
    const startedAt = performance.now();
    try {
      await link(version);
      failures.delete(version);
      log.info({ version, seconds: (performance.now() - startedAt) / 1000 }, "linked a kube-apiserver");
    } catch (error) {
      failures.set(version, messageOf(error));
      log.error({ version, err: error }, "a kube-apiserver could not be linked");
    }
    underWay.delete(version);
    onEnd(version);
  }

  return {
    pathOf,
    get(version) {
      if (underWay.has(version)) return { state: "linking" };
      if (existsSync(pathOf(version))) return { state: "linked" };
      const message = failures.get(version);
      return message === undefined ? { state: "absent" } : { state: "failed", message };
    },
    link(version) {
      if (underWay.has(version)) return;
      underWay.add(version);
      // Two linkers at once take twice the memory and the same time.
      last = last.then(() => linkNow(version));
    },
  };
}
