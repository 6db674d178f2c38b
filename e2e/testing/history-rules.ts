import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { isAutoscaled } from "../../shared/crd/node-pool-rules.ts";

type Observed = Cluster | NodePool;
type Status = Observed["status"];

/** Reasons for which a ready object may become not ready. */
const LOSSES = [
  "Deleting",
  "ControlPlaneUnavailable",
  "EndpointUnreachable",
  "NodesUnhealthy",
  "InfrastructureLost",
  // For a pool whose cluster was removed by force.
  "WaitingForCluster",
];
/** Fields that never change once set, unless the status is lost. */
const FIXED = ["workerSubnet", "firstReadyAt"] as const;
/** As "2 of 2 are up to date". */
const ALL_UP_TO_DATE = /\b([1-9]\d*) of \1 ((is|are) up to date|nodes? (has|have) them)/;

/** Violations of the rules for every status, from the states of one object, the oldest first; one sentence each. */
export function findLies(states: readonly Observed[]): string[] {
  const ofSteps = states.flatMap((state, index) =>
    [...judgeState(state), ...judgeStep(states[index - 1], state)].map((lie) => `${describe(state)}: ${lie}`),
  );
  return [...ofSteps, ...findEarlyEnds(states.filter(isPool))];
}

/** Whether a text says that all nodes are up to date. */
export function saysAllUpToDate(text: string): boolean {
  return ALL_UP_TO_DATE.test(text);
}

function describe({ kind, metadata }: Observed): string {
  return `${kind} ${metadata.name} at ${metadata.resourceVersion}`;
}

function judgeState({ kind, metadata, status }: Observed): string[] {
  const is = (type: string) => findOf(status, type)?.status === "True";
  const lies: string[] = [];
  if ((status?.observedGeneration ?? -1) > (metadata.generation ?? 0)) lies.push("it saw the future");
  if (is("Reconciling") && is("Stalled")) lies.push("it moves and is stuck");
  if (["Ready", "Scaling", "Upgrading"].includes(status?.phase ?? "") && !is("Ready")) {
    if (findOf(status, "Ready")?.reason !== "NodesUnhealthy") lies.push(`${status?.phase}, but not Ready`);
  }
  if (["Deleting", "Degraded", "Provisioning"].includes(status?.phase ?? "") && is("Ready")) {
    lies.push(`${status?.phase}, but Ready`);
  }
  const upToDate = findOf(status, "UpToDate");
  if (upToDate?.status === "False" && saysAllUpToDate(upToDate.message)) lies.push(upToDate.message);
  if (status?.phase === "Deleting" && kind === "Cluster" && is("WorkersReady")) {
    lies.push("it is being deleted, but its workers are ready");
  }
  const sequences = (status?.transitions ?? []).map(({ sequence }) => sequence);
  if (sequences.some((sequence, index) => index > 0 && sequence !== (sequences[index - 1] ?? 0) + 1)) {
    lies.push(`transitions ${sequences.join(", ")}`);
  }
  const once = (status?.transitions ?? []).filter(({ type }) => type === "Ready");
  if (once.length > 1) lies.push("it became ready for the first time twice");
  return lies;
}

function judgeStep(before: Observed | undefined, after: Observed): string[] {
  if (before === undefined) return [];
  const lies: string[] = [];
  const wasWiped = after.status?.conditions === undefined || before.status?.conditions === undefined;
  const ready = findOf(after.status, "Ready");
  if (findOf(before.status, "Ready")?.status === "True" && ready !== undefined && ready.status !== "True") {
    if (!LOSSES.includes(ready.reason)) lies.push(`no longer ready: ${ready.reason} ${ready.message}`);
  }
  for (const name of FIXED) {
    const [was, is] = [readFixed(before, name), readFixed(after, name)];
    if (was !== undefined && was !== is && !wasWiped) lies.push(`${name} went from ${was} to ${is}`);
  }
  const last = before.status?.transitions?.at(-1)?.sequence ?? 0;
  if ((after.status?.transitions?.at(-1)?.sequence ?? 0) < last && !wasWiped)
    lies.push("transitions were lost");
  if (beginsToScaleWithoutCause(before, after)) lies.push("it scales, but has all its nodes and no others");
  return lies;
}

/** A change of anything but the number of nodes is not scaling; a count that was changed twice at once still is. */
function beginsToScaleWithoutCause(before: Observed, after: Observed): boolean {
  if (!isPool(before) || !isPool(after)) return false;
  const { spec, status } = after;
  const begins =
    findOf(before.status, "Scaling")?.status === "False" && findOf(status, "Scaling")?.status === "True";
  const isSteady = [before, after].every(
    (state) => state.spec.desiredNodes === spec.desiredNodes && !isAutoscaled(state.spec),
  );
  return (
    begins && isSteady && [status?.nodes, status?.readyNodes].every((nodes) => nodes === spec.desiredNodes)
  );
}

/** A pool that is done after a change of size has none of the machines that it had before the change. */
function findEarlyEnds(states: readonly NodePool[]): string[] {
  const lies: string[] = [];
  let last: NodePool | undefined;
  for (const state of states.filter(isDone)) {
    const old = new Set(last?.status?.machines?.map(({ uid }) => uid));
    const kept = (state.status?.machines ?? []).filter(({ uid }) => old.has(uid));
    if (last !== undefined && sizeOf(last) !== sizeOf(state) && kept.length > 0) {
      const names = kept.map(({ name }) => name).join(", ");
      lies.push(`${describe(state)}: done, but of the former size: ${names}`);
    }
    if ((state.status?.machines ?? []).some(({ outdated }) => outdated)) {
      lies.push(`${describe(state)}: done, but it has machines that will be replaced`);
    }
    last = state;
  }
  return lies;
}

function isDone({ metadata, status }: NodePool): boolean {
  const are = (types: string[], value: string) =>
    types.every((type) => findOf(status, type)?.status === value);
  return (
    status?.observedGeneration === metadata.generation &&
    are(["Ready", "UpToDate"], "True") &&
    are(["Reconciling", "Scaling"], "False") &&
    findOf(status, "Stalled") === undefined
  );
}

function sizeOf({ spec }: NodePool): string {
  return `${spec.vcpus}/${spec.memoryGB}/${spec.diskGB}`;
}

function isPool(state: Observed): state is NodePool {
  return state.kind === "NodePool";
}

function readFixed({ status }: Observed, name: (typeof FIXED)[number]): string | undefined {
  return (status as Record<string, unknown> | undefined)?.[name] as string | undefined;
}

function findOf(status: Status, type: string) {
  const conditions: readonly { type: string; status: string; reason: string; message: string }[] =
    status?.conditions ?? [];
  return conditions.find((condition) => condition.type === type);
}
