import type { NewCondition } from "../../../shared/controller/conditions.ts";
import { type Decision, decide, FINALIZER, hasFinalizer, isDeleting, nextStatus } from "../decision.ts";
import type { LocalControlPlane } from "../kinds.ts";
import type { ProgramState } from "../processes.ts";
import { PROGRAMS, type Program } from "../tenant.ts";

/** Whether the kube-apiserver that calls itself the wanted version is there. */
export type ApiserverBinary =
  | { state: "linked" }
  | { state: "absent" }
  | { state: "linking" }
  | { state: "failed"; message: string };

export interface ObservedControlPlane {
  object: LocalControlPlane;
  /** The Cluster that Cluster API made its owner. */
  ownerName: string | undefined;
  /** Whether the Cluster has its address. */
  hasEndpoint: boolean;
  /** Whether every Secret is there, the kubeconfig not due for renewal. */
  secretsGood: boolean;
  binary: ApiserverBinary;
  filesGood: boolean;
  /** As they are; a program that was never started is missing. */
  programs: Partial<Record<Program, ProgramState>>;
  /** Fingerprints of what they should be; undefined while the binary is not there. */
  wanted: Record<Program, string> | undefined;
  /** The kube-apiserver does not run and another program has its port. */
  portTaken: boolean;
  /** Whether another kube-apiserver may start now. */
  mayStart: boolean;
  ready: boolean;
  /** What the kube-apiserver says when it is not ready, or why there is no answer. */
  notReadyBecause: string;
  /** What the last step failed with; undefined when it went well. */
  failure: string | undefined;
  /** Milliseconds since it was last ready; undefined when this provider has not seen it ready. */
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

/** What is to be done next, and what is being waited for. */
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
/** Between two looks while all is well. An exit is noticed at once; this is for one that hangs. */
const STEADY_MS = 5000;
/** An apiserver that is away for less is not worth an alarm: a restart takes 3 to 6 s. */
const GRACE_MS = 10_000;

/** The programs of one tenant cluster, from Secrets to a kube-apiserver that answers, and to nothing at the end. */
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
    return step(SOON_MS, "CreatingKeys", "Keys are made.", [{ do: "createSecrets" }]);
  if (binary.state === "absent") {
    return step(LINKING_MS, "Linking", `The kube-apiserver ${version} is built.`, [{ do: "link" }]);
  }
  if (binary.state === "linking")
    return step(LINKING_MS, "Linking", `The kube-apiserver ${version} is built.`, []);
  if (binary.state === "failed") return step(LINK_RETRY_MS, "LinkFailed", binary.message, [{ do: "link" }]);
  if (!observed.filesGood)
    return step(SOON_MS, "WritingFiles", "Certificates are written.", [{ do: "writeFiles" }]);
  return decideApiserver(observed) ?? decideOthers(observed);
}

/** undefined when the kube-apiserver runs as wanted and is ready. */
function decideApiserver(observed: ObservedControlPlane): NextStep | undefined {
  const program = "kube-apiserver";
  const state = observed.programs[program];
  if (state?.running !== true) return decideStart(observed, state);
  if (state.specHash !== observed.wanted?.[program]) {
    const message = `The kube-apiserver ${state.version} is stopped for ${observed.object.spec.version}.`;
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
    const message = "The port of the kube-apiserver is in use by another program; another one is chosen.";
    return { effects: [{ do: "movePort" }], requeueAfterMs: SOON_MS, reason: "MovingPort", message };
  }
  const message = "The kube-apiserver is started.";
  if (!observed.mayStart) {
    return {
      effects: [],
      requeueAfterMs: STARTING_MS,
      reason: "WaitingForTurn",
      message: `${message} Others first.`,
    };
  }
  const effects: ControlPlaneEffect[] = [{ do: "start", program: "kube-apiserver" }];
  return { effects, requeueAfterMs: STARTING_MS, reason: "Starting", message };
}

/**
 * The others end when there is no kube-apiserver at their start, so they come after it. One that was there before this
 * kube-apiserver is started again: after an absence client-go asks again up to 60 s later, and until then it acts on what
 * it saw last (a scheduler that fills drained nodes) or not at all.
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
  const { version, replicas } = object.spec;
  const previous = object.status ?? {};
  const isCurrent = ready && step.reason === "Available";
  // The old version stays until the new process answers: the workers' turn in an upgrade begins with this field.
  const versions = isCurrent ? [{ version, ...(replicas !== undefined && { replicas }) }] : previous.versions;
  const controlPlaneInitialized = previous.initialization?.controlPlaneInitialized === true || isCurrent;
  const available = describeAvailable(observed, step, isCurrent);
  const counted = available.status === "True" ? replicas : 0;
  return nextStatus<Status>(
    object,
    {
      initialization: { controlPlaneInitialized },
      // Without it Cluster API looks for control plane Machines, finds none and gives the Nodes up.
      externalManagedControlPlane: true,
      ...(versions !== undefined && { versions }),
      ...(replicas !== undefined && {
        replicas,
        readyReplicas: counted,
        availableReplicas: counted,
        upToDateReplicas: isCurrent ? replicas : 0,
      }),
    },
    [available, describeRollingOut(controlPlaneInitialized, versions?.[0]?.version, version)],
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
