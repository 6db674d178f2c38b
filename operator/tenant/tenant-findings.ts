import { isDeepStrictEqual } from "node:util";
import { findCondition } from "../../shared/controller/conditions.ts";
import type { ClusterStatus, ForeignAdmins, RegistrationPart } from "../../shared/crd/cluster.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { messageOf } from "../../shared/program/errors.ts";
import { formatTime } from "../../shared/program/time.ts";
import type { FoundAdmins } from "./foreign-admins.ts";

/** What this process knows of the rights in a tenant cluster, and of its registration; a part that it has not read is missing. */
export interface TenantFindings {
  foreignAdmins?: ForeignAdmins;
  /** The generation of the admin credentials that alone has a right. */
  credentialsGeneration?: number;
  /** How the registration of the cluster goes; null = none is wanted. */
  registration?: RecordedRegistration | null;
}

/** What a condition says of a registration. */
export interface RegistrationOutcome {
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
}

export interface RecordedRegistration extends RegistrationOutcome {
  /** What was asked for at that time. */
  parts: readonly RegistrationPart[];
}

/** Keeps what was found in each tenant cluster, for the status of the cluster. */
export interface FindingsStore {
  recordAdmins(key: string, found: FoundAdmins): void;
  recordGeneration(key: string, generation: number): void;
  recordRegistration(key: string, outcome: RecordedRegistration | undefined): void;
  find(key: string): TenantFindings;
  forget(key: string): void;
}

interface FindingsOptions {
  now: () => Date;
  /** The last status of a cluster: what a process finds first is often what that says already. */
  findStatus: (key: string) => ClusterStatus | undefined;
  /** Called when something else is found than before. */
  onChange: (key: string) => void;
}

export function createFindingsStore({ now, findStatus, onChange }: FindingsOptions): FindingsStore {
  const records = new Map<string, TenantFindings>();

  function set(key: string, part: TenantFindings): void {
    records.set(key, { ...records.get(key), ...part });
    onChange(key);
  }

  return {
    recordAdmins(key, found) {
      const known = records.get(key)?.foreignAdmins ?? findStatus(key)?.foreignAdmins;
      if (known !== undefined && isSameAdmins(known, found)) return;
      set(key, { foreignAdmins: { ...found, observedAt: formatTime(now()) } });
    },
    recordGeneration(key, credentialsGeneration) {
      const known = records.get(key)?.credentialsGeneration ?? findStatus(key)?.credentialsGeneration;
      if (known !== credentialsGeneration) set(key, { credentialsGeneration });
    },
    recordRegistration(key, outcome) {
      const known = records.get(key)?.registration;
      if (!isDeepStrictEqual(known ?? undefined, outcome)) set(key, { registration: outcome ?? null });
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

/** What gives access to a cluster: issuing its admin kubeconfig, and its bindings in the tenant's API. */
export type AccessPart = "kubeconfig" | "bindings";

/** The last outcome of one part; no `failure` = it succeeded. */
export interface AttemptOutcome {
  failure?: { message: string; isUnreachable: boolean; since: Date };
}

/** The last outcomes for one cluster; a part that this process has not tried is missing. */
export type AccessAttempts = Readonly<Partial<Record<AccessPart, AttemptOutcome>>>;

/** Keeps how the last attempts at giving access went, for the condition of the cluster. */
export interface AccessHealth {
  /** Runs `attempt` and records its outcome under a cluster's key; rejects as it does. */
  record<Result>(key: string, part: AccessPart, attempt: () => Promise<Result>): Promise<Result>;
  find(key: string): AccessAttempts;
  forget(key: string): void;
}

/** Calls `onChange` when a part begins to fail, fails otherwise, or recovers, also from a failure that the status has. */
export function createAccessHealth({ now, findStatus, onChange }: FindingsOptions): AccessHealth {
  const outcomes = new Map<string, Partial<Record<AccessPart, AttemptOutcome>>>();

  function set(key: string, part: AccessPart, error: unknown): void {
    const known = outcomes.get(key) ?? {};
    const last = known[part];
    const message = error === undefined ? undefined : describe(error);
    if (last !== undefined && last.failure?.message === message) return;
    const since = last?.failure?.since ?? now();
    const isUnreachable = error instanceof KubeError && error.isUnavailable;
    const next = message === undefined ? {} : { failure: { message, isUnreachable, since } };
    outcomes.set(key, { ...known, [part]: next });
    const hadFailed = findCondition(findStatus(key)?.conditions, "AccessReady")?.status === "False";
    if (last !== undefined || message !== undefined || hadFailed) onChange(key);
  }

  return {
    async record(key, part, attempt) {
      try {
        const result = await attempt();
        set(key, part, undefined);
        return result;
      } catch (error) {
        // A process that ends says nothing about the tenant.
        if (!(error instanceof KubeError && error.isAborted)) set(key, part, error);
        throw error;
      }
    },
    find: (key) => outcomes.get(key) ?? {},
    forget(key) {
      outcomes.delete(key);
    },
  };
}

function describe(error: unknown): string {
  if (error instanceof KubeError) return error.kubeMessage;
  return messageOf(error);
}
