import type { z } from "@hono/zod-openapi";
import { type ClusterAccess, findExpiry, isIssued } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { toRestWords } from "../../shared/crd/rest-words.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { holderOf } from "./holder.ts";
import { type ACCESS_STATUSES, type accessRecord, FOREIGN_NOTE, type foreignAccesses } from "./schema.ts";

export type AccessRecord = z.output<typeof accessRecord>;

/** The cluster that an access belongs to. */
export interface AccessPlace {
  orgId: string;
  clusterId: string;
}

/** The public id of an access; undefined until the operator has given one to an access that was applied by kubectl. */
export function accessIdOf({ metadata }: ClusterAccess): string | undefined {
  return metadata.labels?.[LABEL_ID]?.toLowerCase();
}

/** The access record. It holds no secret: the certificate is unusable without its key. */
export function presentAccess(access: ClusterAccess, place: AccessPlace, email: string | null): AccessRecord {
  const { metadata, spec } = access;
  const { status, message } = summarize(access);
  return {
    id: accessIdOf(access) ?? "",
    org_id: place.orgId,
    cluster_id: place.clusterId,
    subject: spec.subject,
    email,
    api_token_id: holderOf(access)?.tokenId ?? null,
    status,
    status_message: message === null ? null : toRestWords(message),
    ttl_seconds: spec.ttlSeconds,
    created_at: new Date(metadata.creationTimestamp ?? 0).toISOString(),
    expires_at: findExpiry(access).toISOString(),
  };
}

/** The bindings that make administrators of a cluster and that Marina did not make. */
export function presentForeign({
  id,
  orgId,
  object,
}: Pick<ProjectedCluster, "id" | "orgId" | "object">): z.output<typeof foreignAccesses> {
  const { count = null, names = [], observedAt } = object.status?.foreignAdmins ?? {};
  return {
    org_id: orgId,
    cluster_id: id,
    count,
    names: [...names],
    observed_at: observedAt === undefined ? null : new Date(observedAt).toISOString(),
    note: FOREIGN_NOTE,
  };
}

/** The status of an access, and a message where there is one. */
export function summarize(access: ClusterAccess): {
  status: (typeof ACCESS_STATUSES)[number];
  message: string | null;
} {
  const { metadata, status } = access;
  const find = (type: string) => status?.conditions?.find((condition) => condition.type === type);
  const ready = find("Ready");
  if (metadata.deletionTimestamp !== undefined) {
    // The deletion is a generation of its own: a message of an earlier one says nothing of it.
    const isOfDeletion = ready?.status === "False" && ready.observedGeneration === metadata.generation;
    return { status: "revoking", message: isOfDeletion ? ready.message : null };
  }
  const stalled = find("Stalled");
  if (stalled?.status === "True") return { status: "refused", message: stalled.message };
  if (ready?.status === "True" && isIssued(access)) return { status: "active", message: null };
  return { status: "pending", message: ready?.message ?? null };
}
