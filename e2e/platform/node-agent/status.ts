import type { Condition, ContainerStatus, Pod, PodStatus } from "./kinds.ts";

/** What a Pod's containers are doing. */
export interface PodState {
  podIP: string;
  hostIP: string;
  initContainers: readonly ContainerStatus[];
  containers: readonly ContainerStatus[];
  /** What keeps its containers from being started, such as a missing volume. */
  problem?: string | undefined;
}

/** The phase, by the rules of the Pod lifecycle in the Kubernetes documentation. */
export function phaseOf(pod: Pod, { initContainers, containers }: PodState): PodStatus["phase"] {
  const isTerminal = ({ state }: ContainerStatus): boolean => state.terminated !== undefined;
  const failed = ({ state }: ContainerStatus): boolean => (state.terminated?.exitCode ?? 0) !== 0;
  if (pod.spec.restartPolicy === "Never" && initContainers.some(failed)) return "Failed";
  if (containers.length > 0 && containers.every(isTerminal) && pod.spec.restartPolicy !== "Always") {
    if (!containers.some(failed)) return "Succeeded";
    if (pod.spec.restartPolicy === "Never") return "Failed";
  }
  const started = containers.some(({ state, restartCount }) => !state.waiting || restartCount > 0);
  return started ? "Running" : "Pending";
}

type Wanted = Omit<Condition, "lastTransitionTime">;

function conditionsOf(state: PodState, phase: PodStatus["phase"]): Wanted[] {
  const { initContainers, containers } = state;
  const condition = (type: string, isTrue: boolean, reason: string, message = ""): Wanted =>
    isTrue ? { type, status: "True" } : { type, status: "False", reason, ...(message && { message }) };
  const initialized = initContainers.every(({ state: one }) => one.terminated?.exitCode === 0);
  const unready = containers.filter(({ ready }) => !ready).map(({ name }) => name);
  const isDone = phase === "Succeeded" || phase === "Failed";
  const ready = !isDone && containers.length > 0 && unready.length === 0;
  const reason = isDone ? (phase === "Failed" ? "PodFailed" : "PodCompleted") : "ContainersNotReady";
  const message = isDone ? "" : (state.problem ?? `containers with unready status: [${unready.join(" ")}]`);
  return [
    { type: "PodScheduled", status: "True" },
    condition("Initialized", initialized, "ContainersNotInitialized"),
    condition("ContainersReady", ready, reason, message),
    condition("Ready", ready, reason, message),
  ];
}

/** The status of a Pod; a condition keeps its time while its status is unchanged. */
export function composeStatus(pod: Pod, state: PodState, now: string): PodStatus {
  const phase = phaseOf(pod, state) ?? "Pending";
  const conditions = conditionsOf(state, phase).map((wanted): Condition => {
    const before = pod.status?.conditions?.find(({ type }) => type === wanted.type);
    const isSame = before?.status === wanted.status;
    return { ...wanted, lastTransitionTime: isSame ? before.lastTransitionTime : now };
  });
  return {
    phase,
    conditions,
    hostIP: state.hostIP,
    podIP: state.podIP,
    podIPs: [{ ip: state.podIP }],
    startTime: pod.status?.startTime ?? now,
    initContainerStatuses: [...state.initContainers],
    containerStatuses: [...state.containers],
  };
}
