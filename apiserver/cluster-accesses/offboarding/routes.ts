import type { z } from "@hono/zod-openapi";
import { cacheFor } from "../../../shared/program/cache-for.ts";
import { Gauge, type Registry } from "../../../shared/program/metrics.ts";
import { findTargetsOf } from "../../audit/index.ts";
import { DOWNLOAD_ACTION } from "../../clusters/index.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import type { Router } from "../../http/contract/router.ts";
import { findCluster, type ProjectedCluster } from "../../resources/project/index.ts";
import { FOREIGN_NOTE } from "../schema.ts";
import type { EndedRight, Offboarding } from "../table.ts";
import { MAX_OPENED_CLUSTERS, MAX_RIGHTS, offboardingRecord } from "./schema.ts";
import { listEndedRights, readPendingSeconds, requireOffboarding } from "./store.ts";

/** As long as the audit log is kept. */
const OPENED_WITHIN_DAYS = 400;

/** What ended with a membership, what is pending, and what cannot be ended. */
export function addOffboardingRoutes(router: Router<Deps>, deps: Deps): void {
  createOffboardingMetrics(deps.metrics, deps);
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/members/{memberID}/offboarding",
      operationId: "getOffboarding",
      tag: "Members",
      summary: "Get what ended with a former member's membership",
      description:
        "The API tokens and kubeconfigs that the removal ended, since when any of them is pending, and what cannot be ended. It is there for 30 days after the removal, and for as long as something is pending.",
      access: "members:remove",
      responses: { 200: { description: "What ended.", body: offboardingRecord } },
    },
    async (c, { deps, orgId, params }) => {
      const offboarding = await requireOffboarding(deps.db, orgId, params.memberID);
      const rights = await listEndedRights(deps.db, orgId, params.memberID, MAX_RIGHTS);
      const opened = await listOpened(deps, orgId, offboarding.userId);
      return c.json(presentOffboarding(offboarding, rights, opened), 200);
    },
  );
}

/** The clusters that are there and of which a person got kubeconfigs, by the audit log. */
async function listOpened({ db }: Deps, orgId: string, userId: string): Promise<ProjectedCluster[]> {
  const actor = { userId };
  const ids = await findTargetsOf(db, orgId, {
    actor,
    withinDays: OPENED_WITHIN_DAYS,
    action: DOWNLOAD_ACTION,
  });
  const issued = await findTargetsOf(db, orgId, {
    actor,
    withinDays: OPENED_WITHIN_DAYS,
    action: "cluster_access.create",
    field: "cluster_id",
  });
  const found: ProjectedCluster[] = [];
  for (const id of new Set([...ids, ...issued])) {
    const cluster = found.length < MAX_OPENED_CLUSTERS ? await findCluster(db, orgId, id) : undefined;
    if (cluster !== undefined) found.push(cluster);
  }
  return found;
}

/** A scrape reads again once the figure is this old. */
const FIGURE_AGE_MS = 10_000;

/** `marina_apiserver_ended_rights_pending_seconds`, of all replicas: a scrape reads it from the database. */
function createOffboardingMetrics(registry: Registry, { db }: Pick<Deps, "db">): void {
  const read = cacheFor(FIGURE_AGE_MS, () => readPendingSeconds(db));
  new Gauge({
    name: "marina_apiserver_ended_rights_pending_seconds",
    help: "How long the oldest right that is to end has been pending; NaN when the database does not respond",
    registers: [registry],
    async collect() {
      this.set((await read()) ?? Number.NaN);
    },
  });
}

/** The wire form of what ended with a membership; `opened` are the clusters that the person has had kubeconfigs of. */
function presentOffboarding(
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
