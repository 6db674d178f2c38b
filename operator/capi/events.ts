import type { Event } from "../../shared/kube/core-kinds.ts";
import { capiClusterKind, isCapiGroup, isMachineKind } from "./kinds.ts";
import { toTenantMessage } from "./tenant-messages.ts";

/** What reports an Event: Cluster API's own decisions, a machine of the cluster, or what hosts the machine. */
export type EventSource = "operator" | "machine" | "hypervisor";

/** Where an Event about an object of Cluster API comes from; `isHost`: the object is a machine's infrastructure. */
export function sourceOfEvent(kind: string, isHost: boolean): EventSource {
  if (isHost) return "hypervisor";
  return isMachineKind(kind) ? "machine" : "operator";
}

/** Whether an Event is about an object of Cluster API or of a provider that follows its naming. */
export function isCapiEvent({ regarding }: Event): boolean {
  return isCapiGroup(groupOf(regarding?.apiVersion));
}

/**
 * What people want to know of Cluster API's normal activity: its machines and nodes, and what they run on. The text says it of the
 * object where Cluster API's note is the name of a condition or of a node; undefined: its note is a sentence.
 */
export const SHOWN_REASONS: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  Cluster: {
    InfrastructureReady: "its infrastructure is ready",
    ControlPlaneInitialized: "its first control plane machine serves the Kubernetes API",
  },
  Machine: {
    MachineMarkedUnhealthy: "a health check has marked it as unhealthy",
    NodeVolumesDetached: "the volumes of its node are detached",
    SuccessfulDrainNode: "its node is drained",
    SuccessfulSetNodeRef: "it has joined the cluster as a node",
    SuccessfulStartInPlaceUpdate: undefined,
  },
  MachineSet: { SuccessfulCreate: undefined, SuccessfulDelete: undefined },
};

/** What is shown of a kind of Cluster API's own; nothing of a kind of a provider, all of whose Events are shown. */
function findShownReasons({
  regarding: { apiVersion, kind = "" } = {},
}: Event): Readonly<Record<string, string | undefined>> {
  return isOfProvider(apiVersion) || !Object.hasOwn(SHOWN_REASONS, kind) ? {} : (SHOWN_REASONS[kind] ?? {});
}

function isOfProvider(apiVersion: string | undefined): boolean {
  const group = groupOf(apiVersion);
  return !isCapiGroup(group) || group.startsWith("infrastructure.");
}

/** What a normal Event of Cluster API says of its object, where that is not in its note. */
export function sentenceOfEvent(event: Event): string | undefined {
  const { type, reason = "" } = event;
  const reasons = findShownReasons(event);
  return type === "Warning" || !Object.hasOwn(reasons, reason) ? undefined : reasons[reason];
}

/**
 * Whether an Event of Cluster API or of a provider is shown to the users of its cluster: every failure that it does not
 * just retry, all that a provider does, and a list of Cluster API's normal activity. Work on its own objects is not shown.
 */
export function isShown(event: Event): boolean {
  const { type, note = "", reason = "", regarding: { apiVersion, kind = "" } = {} } = event;
  if (type === "Warning") return toTenantMessage(note || reason) !== "";
  if (isOfProvider(apiVersion)) return !kind.endsWith("Template");
  return Object.hasOwn(findShownReasons(event), reason);
}

/**
 * Excludes on the server what is certainly not shown: Events about Kubernetes' own objects, most of all Pods, and about
 * what Cluster API does with its own objects.
 */
export const EVENT_SELECTOR = [
  ...["v1", "apps/v1", "batch/v1", "autoscaling/v2", "policy/v1"].map((it) => `regarding.apiVersion!=${it}`),
  ...["TopologyCreate", "TopologyUpdate", "TopologyDelete"].map((it) => `reason!=${it}`),
].join(",");

/** Whether an Event is about a Cluster itself. */
export function isClusterEvent({ regarding }: Event): boolean {
  return regarding?.kind === capiClusterKind.kind;
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
