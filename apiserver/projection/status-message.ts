import { findCondition } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { isUnobserved } from "./status.ts";

/** What an object waits for, or what went wrong and how to fix it, as its operator words it; undefined = nothing is under way. */
export function statusMessageOf(object: Pick<Cluster | NodePool, "metadata" | "status">): string | undefined {
  const { metadata, status } = object;
  const isDeleting = metadata.deletionTimestamp !== undefined;
  const wasSeenDeleting = status?.phase === "Deleting";
  if (isDeleting && !wasSeenDeleting) return "The deletion was accepted and begins within moments.";
  if (!isDeleting && isUnobserved(object))
    return "The request was accepted and is carried out within moments.";
  if (status?.message !== undefined) return status.message;
  const conditions: Parameters<typeof findCondition<string>>[0] = status?.conditions;
  const reconciling = findCondition(conditions, "Reconciling");
  return reconciling?.status === "True" ? reconciling.message : undefined;
}
