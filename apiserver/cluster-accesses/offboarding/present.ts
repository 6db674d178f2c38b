import type { z } from "@hono/zod-openapi";
import type { ProjectedCluster } from "../../resources/project/index.ts";
import { FOREIGN_NOTE } from "../schema.ts";
import type { EndedRight, Offboarding } from "../table.ts";
import type { offboardingRecord } from "./schema.ts";

/** The wire form of what ended with a membership; `opened` are the clusters that the person has had kubeconfigs of. */
export function presentOffboarding(
  { memberId, orgId, userId, email, removedAt, completedAt }: Offboarding,
  rights: readonly EndedRight[],
  opened: readonly Pick<ProjectedCluster, "id" | "displayName" | "object">[],
): z.output<typeof offboardingRecord> {
  const oldest = rights.find(({ endedAt }) => endedAt === null)?.requestedAt ?? removedAt;
  return {
    member_id: memberId,
    org_id: orgId,
    user_id: userId,
    email,
    removed_at: removedAt.toISOString(),
    pending_since: completedAt === null ? oldest.toISOString() : null,
    completed_at: completedAt?.toISOString() ?? null,
    rights: rights.map(({ kind, targetId, clusterId, requestedAt, endedAt }) => ({
      kind,
      id: targetId,
      cluster_id: clusterId,
      requested_at: requestedAt.toISOString(),
      ended_at: endedAt?.toISOString() ?? null,
    })),
    cannot_end: {
      clusters: opened.map(({ id, displayName, object }) => ({
        cluster_id: id,
        name: displayName,
        foreign_admins: object.status?.foreignAdmins?.count ?? null,
      })),
      note: FOREIGN_NOTE,
    },
  };
}
