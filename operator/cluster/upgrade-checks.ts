import { KubeError } from "../../shared/kube/errors.ts";
import { splitKey } from "../../shared/kube/object.ts";
import type { Logger } from "../../shared/program/log.ts";
import { createReadSlots, describeTenantError, READ_LIMITS } from "../../shared/tenant/connect.ts";
import { readUpgradeChecks } from "../../shared/tenant/upgrade/read-checks.ts";
import { isBlocking, toUnknownCheck, type UpgradeCheck } from "../../shared/tenant/upgrade/upgrade-check.ts";
import type { Caches } from "../caches.ts";
import { findTenantEndpoint, type TenantAccess } from "../tenant/tenant.ts";

/** The upgrade of a cluster that is to be checked. */
export interface UpgradeToCheck {
  target: string;
  /** Whether checks that block it keep it from beginning: what could not be read is then read again for a minute. */
  isEnforced: boolean;
}

/** What is known of an upgrade: undefined = its checks are being read. And when to ask again. */
export interface KnownChecks {
  checks: readonly UpgradeCheck[] | undefined;
  requeueAfterMs: number | undefined;
}

/** Reads what upgrades find in the background, and keeps the last result of each as long as it is asked for. */
export interface UpgradeChecker {
  /** What is known of the cluster's upgrade, which is read now if that is due. */
  track(key: string, upgrade: UpgradeToCheck): KnownChecks;
  /** The cluster is not to be upgraded: what was known of it is dropped. */
  forget(key: string): void;
  stop(): void;
}

interface CheckerOptions {
  /** Within some seconds. Rejects when nothing could be read. */
  read: (key: string, target: string, signal: AbortSignal) => Promise<UpgradeCheck[]>;
  /** Called once the checks of this key were read: they are returned from now on. */
  onChange: (key: string) => void;
  now: () => Date;
  log: Pick<Logger, "warn">;
}

/** After a read in which something could not be read. */
const RETRY_MS = 5_000;
/** So long an upgrade that has to be checked waits for what cannot be read. */
const RETRIED_FOR_MS = 60_000;
/** How long what was found is valid: what blocks an upgrade may be solved meanwhile. */
const VALID_FOR_MS = 60_000;

interface Entry {
  target: string;
  since: number;
  isReading: boolean;
  found: { checks: readonly UpgradeCheck[]; at: number } | undefined;
}

/** Starts without results. */
export function createUpgradeChecker({ read, onChange, now, log }: CheckerOptions): UpgradeChecker {
  const entries = new Map<string, Entry>();
  const slots = createReadSlots();
  const stopped = new AbortController();

  async function readOnce(key: string, target: string): Promise<UpgradeCheck[]> {
    const release = await slots.take(splitKey(key).namespace ?? "", stopped.signal);
    try {
      return await read(key, target, stopped.signal);
    } finally {
      release();
    }
  }

  function explain(error: unknown, key: string): string {
    if (error instanceof KubeError) return describeTenantError(error);
    log.warn({ err: error, key }, "the checks of an upgrade could not be made");
    return "The cluster could not be connected to.";
  }

  async function refresh(key: string, entry: Entry): Promise<void> {
    entry.isReading = true;
    const checks = await readOnce(key, entry.target).catch((error: unknown) =>
      stopped.signal.aborted
        ? []
        : [toUnknownCheck({ kind: "NonResourceURL", namespace: null, name: "/" }, explain(error, key))],
    );
    // What an end of this process has cut off says nothing of the cluster.
    if (stopped.signal.aborted) return;
    entry.isReading = false;
    entry.found = { checks, at: now().getTime() };
    if (entries.get(key) === entry) onChange(key);
  }

  return {
    forget: (key) => void entries.delete(key),
    track(key, upgrade) {
      const time = now().getTime();
      const known = entries.get(key);
      const entry =
        known?.target === upgrade.target
          ? known
          : { target: upgrade.target, since: time, isReading: false, found: undefined };
      entries.set(key, entry);
      const { checks = [], at = Number.NEGATIVE_INFINITY } = entry.found ?? {};
      const isBlocked = checks.some(isBlocking);
      const isKnown = isBlocked || !upgrade.isEnforced || !checks.some(({ check }) => check === "unknown");
      const isComplete = entry.found !== undefined && (isKnown || time - entry.since >= RETRIED_FOR_MS);
      const dueInMs = at + (isComplete ? VALID_FOR_MS : RETRY_MS) - time;
      if (dueInMs <= 0 && !entry.isReading) void refresh(key, entry);
      const isCurrent = isComplete && (dueInMs > 0 || isBlocked);
      return {
        checks: isCurrent ? checks : undefined,
        requeueAfterMs: dueInMs > 0 && !entry.isReading ? dueInMs : undefined,
      };
    },
    stop() {
      entries.clear();
      stopped.abort();
    },
  };
}

/** Reads in the tenant cluster, with the operator's own credential. Rejects with a KubeError also while there is none. */
export function createChecksReader(
  caches: Pick<Caches, "clusters" | "capiClusters" | "clusterSecrets">,
  tenants: Pick<TenantAccess, "withTenant">,
): CheckerOptions["read"] {
  return async (key, target, signal) => {
    const cluster = caches.clusters.get(key);
    const tenant = findTenantEndpoint(caches, key);
    if (cluster === undefined || tenant === undefined)
      throw new KubeError({ status: 0, reason: "NotFound", kubeMessage: "it has no address yet" });
    const found = await tenants.withTenant(
      cluster,
      tenant,
      signal,
      (client) => readUpgradeChecks(client, [target]),
      READ_LIMITS,
    );
    return found.get(target) ?? [];
  };
}
