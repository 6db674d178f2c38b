import { INFRASTRUCTURE_LOST } from "./conditions.ts";
import { ANNOTATION_DELETE_MISSING_POOLS, ANNOTATION_RECREATE, LABEL_ID } from "./names.ts";
import { DEFAULT_NODES } from "./node-pool.ts";

/** The next step of an owner, for each reader: what kubectl changes, REST does not show. */
interface Advice {
  kubectl: string;
  rest: string;
}

/** The advice that its reader decides, by the reason of the condition. It is the end of the message in the status. */
export const ADVICE_BY_REASON = {
  [INFRASTRUCTURE_LOST]: {
    kubectl: `Restore it with its objects of Cluster API; or, to have an empty cluster in its place, set the annotation ${ANNOTATION_RECREATE} of the Cluster to its id, which its label ${LABEL_ID} has.`,
    rest: "Ask the platform's operator to restore it, or to make an empty cluster in its place.",
  },
  NodePoolsMissing: {
    kubectl: `Create them again from the backup; or, to delete these nodes, set the annotation ${ANNOTATION_DELETE_MISSING_POOLS}=true of the Cluster.`,
    rest: "Create them again, or ask the platform's operator to delete these nodes.",
  },
  CountReleased: {
    kubectl: `Set spec.desiredNodes: a server-side apply sets any number, scaling one other than ${DEFAULT_NODES}, which is stored already.`,
    rest: `Set desired_nodes to another number than ${DEFAULT_NODES}, which is stored already.`,
  },
  Suspended: {
    kubectl: "Remove spec.suspend to resume it, or ask the platform's operator.",
    rest: "Ask the platform's operator to resume it.",
  },
} as const satisfies Readonly<Record<string, Advice>>;

/** A message of a status with the advice for readers of REST instead of that for kubectl. */
export function adviseForRest(message: string): string {
  const advice = Object.values(ADVICE_BY_REASON).find(({ kubectl }) => message.endsWith(kubectl));
  return advice === undefined ? message : message.slice(0, -advice.kubectl.length) + advice.rest;
}
