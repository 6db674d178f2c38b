import type { Context } from "hono";
import type { CallOptions, KubeClient } from "../../../shared/kube/client.ts";
import {
  createKeyedSlots,
  createSharedSlots,
  type KeyedSlots,
  type TenantContext,
} from "../../../shared/program/limits.ts";
import { principalKey } from "../authentication/principal.ts";
import type { HttpEnv } from "../env.ts";
import { ApiError, clientDisconnected } from "../errors.ts";
import type { RequestLimits } from "../limits.ts";

/** How long a request waits for the others of its tenant. */
const SLOT_WAIT_MS = 20_000;
/** How many requests of one tenant wait in each queue: as many as its parallel clients have, within some megabytes. */
const MAX_WAITING = 512;

/**
 * Computations at once in one replica: they take turns with all other requests, so that more of them end no earlier, and
 * each keeps what it makes in memory.
 */
const MAX_COMPUTATIONS = { perKey: 1, all: 2 };

/** What one tenant may have under way at once, in one replica. */
export interface TenantLimits {
  writes: KeyedSlots;
  dryRuns: KeyedSlots;
  computations: KeyedSlots;
}

export function createTenantLimits(limits: RequestLimits): TenantLimits {
  return {
    writes: createKeyedSlots(limits.maxConcurrentWrites),
    dryRuns: createKeyedSlots(limits.maxConcurrentDryRuns),
    computations: createSharedSlots(MAX_COMPUTATIONS),
  };
}

export type RequestKind = "read" | "write" | "dry run";

/** A request of a tenant: its slot among those of the tenant, of which a read needs none, and its end. */
export interface TenantRequest {
  /**
   * Waits for a slot among the writes or dry runs of the tenant, at most 20 s. Throws 429, at once where 512 others
   * wait. Called once the whole request has arrived, so that no slow sender holds a slot, and again after a release.
   */
  acquireSlot(): Promise<void>;
  /** Gives the slot to another request, while this one waits. */
  releaseSlot(): void;
  /** Whose slot it takes. */
  readonly tenant: string;
  /** Aborts when the client disconnects, or is answered 503 because the request took too long. */
  readonly ended: AbortSignal;
  /** Whether it has. */
  readonly isEnded: boolean;
  /** Aborts when no caller waits for the result any more; undefined for a write, which is completed once it has begun. */
  readonly signal: AbortSignal | undefined;
  /** Called once the first transaction of a write has its connection: from then on it is completed, but not begun anew. */
  detachFromClient?: (() => void) | undefined;
}

/** A request of any kind while it runs. */
export interface RunningRequest extends TenantRequest {
  /** For its calls of the Kubernetes API; its signal is that of the request. */
  readonly kubeContext: TenantContext;
  /** As `kubeContext`, for statements of Postgres; a write that has not begun has a signal here. */
  readonly databaseContext: TenantContext;
  /**
   * Waits for a slot among the computations of the tenant and of this process, at most 20 s. Throws 429. Called before a
   * response that takes more than some 20 ms to make; it is held until the response is made.
   */
  acquireComputation(): Promise<void>;
}

/** How a request waits for its turn, and runs. */
interface RequestTurn {
  limits: TenantLimits;
  kind: RequestKind;
  deadlineMs: number;
  /** Called when a write or dry run has its first slot, before its effect; what it throws refuses the request. */
  beginTurn?: () => void;
}

/**
 * Runs a request for its tenant: the organization, or the caller where there is none. It waits in the tenant's queues.
 * A read or a dry run ends when the client disconnects or `deadlineMs` is over; a write that has begun (transactAs) is completed.
 */
export async function runWithTenantSlot<T>(
  c: Context<HttpEnv>,
  { limits, kind, deadlineMs, beginTurn }: RequestTurn,
  run: (request: RunningRequest) => Promise<T>,
): Promise<T> {
  const principal = c.get("principal");
  if (principal === undefined) throw new Error("a request without a caller has no tenant");
  const tenant = c.get("membership")?.orgId ?? principalKey(principal);
  const slots = kind === "dry run" ? limits.dryRuns : limits.writes;
  const endsAtMs = performance.now() + deadlineMs;
  const work = { tenant, isDryRun: kind === "dry run" };
  const isWrite = kind === "write";
  const { context, end } = createContext(c, work, { endsAtMs, endsWithClient: !isWrite });
  const beforeTransaction = isWrite ? createContext(c, work, { endsAtMs, endsWithClient: true }) : undefined;
  let releaseSlot: (() => void) | undefined;
  let hasHadTurn = false;
  let endComputation: (() => void) | undefined;
  const request: RunningRequest = {
    kubeContext: context,
    databaseContext: beforeTransaction?.context ?? context,
    tenant,
    detachFromClient: beforeTransaction?.end,
    get ended() {
      return endOf(c, endsAtMs);
    },
    get isEnded() {
      return performance.now() > endsAtMs || c.req.raw.signal.aborted;
    },
    get signal() {
      return context.signal;
    },
    async acquireSlot() {
      if (kind === "read") return;
      releaseSlot ??= await takeSlot(slots, tenant, c.req.raw.signal);
      if (!hasHadTurn) beginTurn?.();
      hasHadTurn = true;
    },
    async acquireComputation() {
      endComputation ??= await takeSlot(limits.computations, tenant, c.req.raw.signal);
    },
    releaseSlot() {
      releaseSlot?.();
      releaseSlot = undefined;
    },
  };
  try {
    return await run(request);
  } finally {
    end();
    beforeTransaction?.end();
    endComputation?.();
    releaseSlot?.();
  }
}

/**
 * The signal is made when it is first asked for: most reads never call another service. After `end` the context holds
 * nothing of the request, for a stream goes on in it for hours.
 */
function createContext(
  c: Context<HttpEnv>,
  { tenant, isDryRun }: { tenant: string; isDryRun: boolean },
  { endsAtMs, endsWithClient }: { endsAtMs: number; endsWithClient: boolean },
): { context: TenantContext; end: () => void } {
  let requestContext = endsWithClient ? c : undefined;
  let signal: AbortSignal | undefined;
  const context = {
    tenant,
    isDryRun,
    get signal() {
      if (requestContext === undefined) return undefined;
      signal ??= endOf(requestContext, endsAtMs);
      return signal;
    },
  };
  const end = () => {
    requestContext = undefined;
    signal = undefined;
  };
  return { context, end };
}

/** The client for the work of one tenant: its calls take that share, and end with that signal; a watch does neither. */
export function bindToTenant(kube: KubeClient, tenant: TenantContext): KubeClient {
  const bind = <O extends CallOptions>(opts?: O) => ({ ...opts, tenant }) as O;
  return {
    get: (kind, namespace, name, opts) => kube.get(kind, namespace, name, bind(opts)),
    list: (kind, opts) => kube.list(kind, bind(opts)),
    listAll: (kind, opts) => kube.listAll(kind, bind(opts)),
    listKinds: (opts) => kube.listKinds(bind(opts)),
    create: (kind, object, opts) => kube.create(kind, object, bind(opts)),
    apply: (kind, object, opts) => kube.apply(kind, object, bind(opts)),
    mergePatch: (kind, namespace, name, patch, opts) =>
      kube.mergePatch(kind, namespace, name, patch, bind(opts)),
    jsonPatch: (kind, namespace, name, operations, opts) =>
      kube.jsonPatch(kind, namespace, name, operations, bind(opts)),
    delete: (kind, namespace, name, opts) => kube.delete(kind, namespace, name, bind(opts)),
    watch: (kind, opts) => kube.watch(kind, opts),
  };
}

/** Made when it is first asked for, for it keeps a timer. */
function endOf(c: Context<HttpEnv>, endsAtMs: number): AbortSignal {
  const remainingMs = Math.max(0, Math.ceil(endsAtMs - performance.now()));
  return AbortSignal.any([c.req.raw.signal, AbortSignal.timeout(remainingMs)]);
}

/** Waits for a slot of a tenant, at most 20 s and until `ended` aborts. Throws 429, at once where 512 others wait. */
export async function takeSlot(slots: KeyedSlots, tenant: string, ended?: AbortSignal): Promise<() => void> {
  const release = ended?.aborted === true ? undefined : slots.tryTake(tenant);
  if (release !== undefined) return release;
  if (slots.countWaiting(tenant) >= MAX_WAITING) throw tooMany();
  const tooLong = AbortSignal.timeout(SLOT_WAIT_MS);
  try {
    return await slots.take(tenant, ended === undefined ? tooLong : AbortSignal.any([ended, tooLong]));
  } catch (error) {
    if (!tooLong.aborted) throw clientDisconnected(error);
    throw tooMany();
  }
}

function tooMany(): ApiError {
  return new ApiError("rate_limited", "Too many such requests are under way; try again.", {
    retryAfterSeconds: 1,
  });
}
