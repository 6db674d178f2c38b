import { setTimeout as sleep } from "node:timers/promises";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { messageOf } from "../../shared/program/errors.ts";
import { runForAll } from "../../shared/program/tenant-context.ts";
import type { Deps } from "../deps.ts";
import { dependencyUnavailable } from "../http/errors.ts";

const MAX_AGE_MS = 30_000;
/** How long a response that can do without it waits for the first read. */
const FIRST_READ_MS = 2_000;
/** After a failed read the next one in the background waits this long: each request would retry and log otherwise. */
const RETRY_AFTER_MS = 5_000;

/** What is read from one ConfigMap of the platform. */
export interface ConfigMapSource<T> {
  name: string;
  key: string;
  /** For messages: "the catalogue of Kubernetes versions". */
  what: string;
  /** Before the first read. */
  initial: T;
  /** Of the text under the key, undefined while there is none. Throws an Error that names the fault. */
  parse: (text: string | undefined) => T;
}

export interface ConfigMapReader<T> {
  /** For a write: at most 30 s old. Throws 503 when it cannot be read. */
  read(): Promise<T>;
  /** The last value known, refreshed in the background at most every 5 s while that fails; `initial` before the first read. */
  readKnown(): Promise<T>;
}

export type ConfigMapDeps = Pick<Deps, "kube" | "now" | "log"> & {
  config: Pick<Deps["config"], "platformNamespace">;
};

/** Reads a ConfigMap of the platform and keeps it for 30 s. */
export function createConfigMapReader<T>(
  deps: ConfigMapDeps,
  { name, key, what, initial, parse }: ConfigMapSource<T>,
): ConfigMapReader<T> {
  let known: { value: T; atMs: number } | undefined;
  let running: Promise<T> | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;

  async function fetchValue(): Promise<T> {
    const map = await deps.kube.get(configMapKind, deps.config.platformNamespace, name);
    const value = parse(map?.data?.[key]);
    known = { value, atMs: deps.now().getTime() };
    return value;
  }

  /** Reads and writes share it, so it is not cut off after the time that a read waits. */
  function refresh(): Promise<T> {
    running ??= runForAll(() => fetchValue())
      .catch(noteFailure)
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  function noteFailure(error: unknown): never {
    failedAtMs = deps.now().getTime();
    deps.log.warn({ message: messageOf(error) }, `${what} cannot be read`);
    throw error;
  }

  const isFresh = () => known !== undefined && deps.now().getTime() - known.atMs < MAX_AGE_MS;
  const hasJustFailed = () => deps.now().getTime() - failedAtMs < RETRY_AFTER_MS;

  return {
    async read() {
      if (known !== undefined && isFresh()) return known.value;
      try {
        return await refresh();
      } catch (error) {
        throw dependencyUnavailable(what.replace(/^t/, "T"), error);
      }
    },
    async readKnown() {
      const isDue = !isFresh() && !hasJustFailed();
      const refreshed = isDue ? refresh().catch(() => undefined) : undefined;
      if (known !== undefined) return known.value;
      const waited = sleep(FIRST_READ_MS, undefined, { ref: false });
      return (await Promise.race([refreshed, waited])) ?? initial;
    },
  };
}
