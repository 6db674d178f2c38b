import { findMaximaBelowOneNode } from "../../shared/crd/autoscaling.ts";
import type { NodePoolSpec } from "../../shared/crd/node-pool.ts";
import { WIRE_NAMES } from "./wire-names.ts";

/** Says that the pool keeps its first node when that node exceeds a maximum; null when no maximum is less than one node. */
export function describeMaxima(spec: NodePoolSpec): string | null {
  const exceeded = findMaximaBelowOneNode(spec).map((field) => WIRE_NAMES[field]);
  if (exceeded.length === 0) return null;
  const size = `${spec.vcpus} vCPUs and ${spec.memoryGB} GiB`;
  return `The pool may have one node although a node (${size}) exceeds ${exceeded.join(" and ")}; raise it to allow more.`;
}
