import type { NewCondition } from "../../../../shared/controller/conditions.ts";
import { type Decision, decide, FINALIZER, hasFinalizer, isDeleting, nextStatus } from "../decision.ts";
import type { LocalControlPlane } from "../kinds.ts";
import type { ProgramState } from "../processes.ts";
import { PROGRAMS, type Program } from "../tenant.ts";
import type { ApiserverBinary } from "../versions.ts";

export interface ObservedControlPlane {
  object: LocalControlPlane;
  /** The Cluster that Cluster API set as its owner. */
  ownerName: string | undefined;
  /** Whether the LocalCluster has its address. */
  hasEndpoint: boolean;
  /** Whether every Secret exists and the kubeconfig is not due for renewal. */
  secretsGood: boolean;
  binary: ApiserverBinary;
  filesGood: boolean;
  /** Current state; a program that was never started is absent. */
  programs: Partial<Record<Program, ProgramState>>;
  /** Hashes of the desired specs; undefined while the binary is missing. */
  wanted: Record<Program, string> | undefined;
  /** The kube-apiserver is not running, and another program uses its port. */
  portTaken: boolean;
  /** Whether another kube-apiserver may start now. */
  mayStart: boolean;
  ready: boolean;
  /** Why the kube-apiserver is not ready, or why there is no response. */
  notReadyBecause: string;
  /** Error of the last step; undefined after a success. */
  failure: string | undefined;
  /** Milliseconds since it was last ready; undefined when it has not been ready since the provider started. */
  lastReadyMs: number | undefined;
  now: Date;
}

export type ControlPlaneEffect =
  | { do: "createSecrets" }
  | { do: "link" }
  | { do: "writeFiles" }
  | { do: "movePort" }
  | { do: "start"; program: Program }
  | { do: "stop"; program: Program }
  | { do: "destroy" };

type Status = NonNullable<LocalControlPlane["status"]>;

/** The next step, and what the control plane is waiting for. */
interface NextStep {
  effects: ControlPlaneEffect[];
  requeueAfterMs: number;
  reason: string;
  message: string;
}

const SOON_MS = 20;
const STARTING_MS = 200;
const LINKING_MS = 500;
const LINK_RETRY_MS = 30_000;
/** Resync while healthy. An exit is noticed immediately; this is for a program that hangs. */
const STEADY_MS = 5000;
/** A shorter outage does not change Available: a restart takes 3 to 6 s. */
const GRACE_MS = 10_000;

/** The programs of one tenant cluster, from Secrets to a ready kube-apiserver. Deletion removes all of them. */
export function reconcileControlPlane(observed: ObservedControlPlane): Decision<Status, ControlPlaneEffect> {
  const { object } = observed;
  if (isDeleting(object)) return decide({ releaseFinalizer: true }, [{ do: "destroy" }]);
  if (observed.ownerName === undefined || !observed.hasEndpoint) return decide();
  const metadata = hasFinalizer(object) ? undefined : { finalizer: FINALIZER };
  const step = decideNextStep(observed);
  const status = describeStatus(observed, step);
  return decide({ metadata, status, requeueAfterMs: step.requeueAfterMs }, step.effects);
}

function decideNextStep(observed: ObservedControlPlane): NextStep {
  const { binary } = observed;
  const { version } = observed.object.spec;
  const step = (
    requeueAfterMs: number,
    reason: string,
    message: string,
    effects: ControlPlaneEffect[],
  ): NextStep => ({
    effects,
    requeueAfterMs,
    reason,
    message,
  });
  if (!observed.secretsGood)
    return step(SOON_MS, "CreatingKeys", "Keys are being created.", [{ do: "createSecrets" }]);
  if (binary.state === "absent") {
    return step(LINKING_MS, "Linking", `The kube-apiserver ${version} is being built.`, [{ do: "link" }]);
  }
  if (binary.state === "linking")
    return step(LINKING_MS, "Linking", `The kube-apiserver ${version} is being built.`, []);
  if (binary.state === "failed") return step(LINK_RETRY_MS, "LinkFailed", binary.message, [{ do: "link" }]);
  if (!observed.filesGood)
    return step(SOON_MS, "WritingFiles", "Certificates are being written.", [{ do: "writeFiles" }]);
  return decideApiserver(observed) ?? decideOthers(observed);
}

/** undefined when the kube-apiserver runs with the desired spec and is ready. */
function decideApiserver(observed: ObservedControlPlane): NextStep | undefined {
  const program = "kube-apiserver";
  const state = observed.programs[program];
  if (state?.running !== true) return decideStart(observed, state);
  if (state.specHash !== observed.wanted?.[program]) {
    const message = `The kube-apiserver ${state.version} is being replaced by ${observed.object.spec.version}.`;
    return { effects: [{ do: "stop", program }], requeueAfterMs: SOON_MS, reason: "Restarting", message };
  }
  if (observed.ready) return undefined;
  const message = `The kube-apiserver is not ready: ${observed.notReadyBecause}.`;
  return { effects: [], requeueAfterMs: STARTING_MS, reason: "NotReady", message };
}

function decideStart(observed: ObservedControlPlane, state: ProgramState | undefined): NextStep {
  if (state !== undefined && state.retryInMs > 0) {
    const message = `The kube-apiserver ended ${state.failures} times in a row; see its log.`;
    return { effects: [], requeueAfterMs: state.retryInMs, reason: "Ended", message };
  }
  if (observed.portTaken) {
    const message = "The port of the kube-apiserver is in use by another program; choosing another port.";
    return { effects: [{ do: "movePort" }], requeueAfterMs: SOON_MS, reason: "MovingPort", message };
  }
  const message = "The kube-apiserver is starting.";
  if (!observed.mayStart) {
    return {
      effects: [],
      requeueAfterMs: STARTING_MS,
      reason: "WaitingForTurn",
      message: "Waiting for other kube-apiservers to start.",
    };
  }
  const effects: ControlPlaneEffect[] = [{ do: "start", program: "kube-apiserver" }];
  return { effects, requeueAfterMs: STARTING_MS, reason: "Starting", message };
}

/**
 * The others exit when they start without a kube-apiserver, so they start after it. One that is older than this
 * kube-apiserver is restarted: after an outage client-go reconnects up to 60 s later, and until then it acts on stale
 * data (a scheduler that fills drained nodes) or not at all.
 */
function decideOthers({ programs, wanted }: ObservedControlPlane): NextStep {
  const apiserverNumber = programs["kube-apiserver"]?.startNumber ?? 0;
  const effects: ControlPlaneEffect[] = [];
  let requeueAfterMs = STEADY_MS;
  for (const program of PROGRAMS.slice(1)) {
    const state = programs[program];
    const isCurrent = state?.specHash === wanted?.[program] && (state?.startNumber ?? 0) > apiserverNumber;
    if (state?.running === true && isCurrent) continue;
    if (state?.running === true) effects.push({ do: "stop", program });
    else if (state !== undefined && state.retryInMs > 0) {
      requeueAfterMs = Math.min(requeueAfterMs, state.retryInMs);
      continue;
    }
    effects.push({ do: "start", program });
  }
  return { effects, requeueAfterMs, reason: "Available", message: "" };
}

function describeStatus(observed: ObservedControlPlane, step: NextStep): Status | undefined {
  const { object, ready } = observed;
  const { version, replicas, shape } = object.spec;
  const previous = object.status ?? {};
  const isCurrent = ready && step.reason === "Available";
  // The old version stays until the new process responds: this field starts the upgrade of the workers.
  const running = isCurrent ? version : (previous.versions?.[0]?.version ?? previous.version);
  const controlPlaneInitialized = previous.initialization?.controlPlaneInitialized === true || isCurrent;
  const available = describeAvailable(observed, step, isCurrent);
  const counted = available.status === "True" ? replicas : 0;
  return nextStatus<Status>(
    object,
    {
      initialization: { controlPlaneInitialized },
      // Without it Cluster API looks for control plane Machines, finds none and abandons the Nodes.
      externalManagedControlPlane: true,
      ...(running !== undefined &&
        (shape === undefined
          ? { versions: [{ version: running, ...(replicas !== undefined && { replicas }) }] }
          : { version: running })),
      ...(replicas !== undefined && {
        replicas,
        readyReplicas: counted,
        availableReplicas: counted,
        upToDateReplicas: isCurrent ? replicas : 0,
      }),
    },
    [available, describeRollingOut(controlPlaneInitialized, running, version)],
    observed.now,
  );
}

function describeAvailable(
  { object, failure, lastReadyMs }: ObservedControlPlane,
  step: NextStep,
  isCurrent: boolean,
): NewCondition<"Available"> {
  const wasAvailable = object.status?.conditions?.find((one) => one.type === "Available")?.status === "True";
  const isShort = wasAvailable && lastReadyMs !== undefined && lastReadyMs < GRACE_MS;
  if (isCurrent || isShort) return { type: "Available", status: "True", reason: "Available", message: "" };
  const message =
    failure === undefined ? step.message : `${step.message} The last attempt failed: ${failure}.`;
  return { type: "Available", status: "False", reason: step.reason, message };
}

function describeRollingOut(initialized: boolean, running: string | undefined, wanted: string) {
  const rolling = initialized && running !== wanted;
  const condition: NewCondition<"RollingOut"> = {
    type: "RollingOut",
    status: rolling ? "True" : "False",
    reason: rolling ? "RollingOut" : "NotRollingOut",
    message: rolling ? `From ${running} to ${wanted}.` : "",
  };
  return condition;
}
