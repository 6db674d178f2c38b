import type { Event } from "../../shared/kube/core-kinds.ts";
import { engineClusterKind, isEngineGroup, isMachineKind } from "./kinds.ts";

/** What reports an Event: Cluster API's own decisions, a machine of the cluster, or what hosts the machine. */
export type EventSource = "operator" | "machine" | "hypervisor";

/** Where an Event about an object of Cluster API comes from; `isHost`: the object is a machine's infrastructure. */
export function sourceOfEvent(kind: string, isHost: boolean): EventSource {
  if (isHost) return "hypervisor";
  return isMachineKind(kind) ? "machine" : "operator";
}

/** Whether an Event is about an object of Cluster API or of a provider that follows its naming. */
export function isEngineEvent({ regarding }: Event): boolean {
  return isEngineGroup(groupOf(regarding?.apiVersion));
}

/** Whether an Event is about a Cluster itself. */
export function isClusterEvent({ regarding }: Event): boolean {
  return regarding?.kind === engineClusterKind.kind;
}

export function groupOf(apiVersion = ""): string {
  return apiVersion.split("/")[0] ?? "";
}

const ACTIONS: [RegExp, string][] = [
  [/delet|drain|terminat/i, "Delete"],
  [/unhealthy|remediat/i, "ReplaceNode"],
  [/upgrad|rollout/i, "Upgrade"],
  [/scal/i, "Scale"],
  [/creat|provision|bootstrap/i, "Create"],
];

/** The action that an Event reports: its own, or for the older API without actions the one that its reason implies. */
export function actionOfEvent({ action, reason = "" }: Event): string {
  if (action) return action;
  return ACTIONS.find(([pattern]) => pattern.test(reason))?.[1] ?? "Update";
}

/** Whether an Event reports that a health check marked this Machine for replacement. */
export function isMarkedUnhealthy({ reason, regarding }: Event, machineUid: string): boolean {
  return reason === "MachineMarkedUnhealthy" && regarding?.uid === machineUid;
}

/** Whether an Event reports that a MachineSet deleted this Machine on purpose, in a rollout or to scale down. */
export function isDeletedBySet({ reason, regarding, note }: Event, machineName: string): boolean {
  const isDeletion = reason === "SuccessfulDelete" && regarding?.kind === "MachineSet";
  return isDeletion && note?.includes(`"${machineName}"`) === true;
}
