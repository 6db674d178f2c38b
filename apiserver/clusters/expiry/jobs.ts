import { isSameExpiry } from "../../../shared/crd/fields.ts";
import { NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { appendFeedEvents, findEventTimes } from "../../events/feed.ts";
import { systemAuthor } from "../../http/authentication/principal.ts";
import { asAuthorized } from "../../http/contract/caller.ts";
import { ApiError } from "../../http/errors.ts";
import { deleteNodePool } from "../../node-pools/index.ts";
import {
  findCluster,
  findNodePool,
  listExpiring,
  type ProjectedCluster,
  type ProjectedNodePool,
} from "../../resources/project/index.ts";
import { isWriteIntended } from "../../resources/write/index.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { deleteCluster } from "../write.ts";
import { composeNotice, isAnnounced, isDue, listNoticeIds } from "./due.ts";
import { lockExpiry } from "./store.ts";

const EVERY_MS = 30_000;
const BATCH = 200;
/** Also the actor of the audit entries. */
const EXPIRY_JOB = "expiry";
/** What a deletion is refused with whose object has changed meanwhile, or is suspended. */
const EXPECTED: ReadonlySet<string> = new Set(["conflict", "deletion_protected", "not_found"]);

/** Announces the end dates of clusters and node pools, and deletes what is past one that was announced. */
export function expiryJobs(deps: Deps): PeriodicJob[] {
  return [{ name: EXPIRY_JOB, everyMs: EVERY_MS, run: (signal) => followEnds(deps, signal) }];
}

type Expiring = ProjectedCluster | ProjectedNodePool;

async function followEnds(deps: Deps, signal: AbortSignal): Promise<void> {
  for (const kind of ["cluster", "node_pool"] as const) {
    let cursor: string | undefined = NIL_ID;
    while (cursor !== undefined && !signal.aborted) {
      const objects: Expiring[] = await listExpiring(deps.db, kind, { cursor, limit: BATCH });
      for (const object of await announce(deps, objects))
        if (!signal.aborted) await expireOrLog(deps, object);
      cursor = objects.length === BATCH ? objects.at(-1)?.id : undefined;
    }
  }
}

/** Sends the notices that are due, and finds what is to be deleted: nothing of which the owner could not know. */
async function announce(deps: Deps, objects: readonly Expiring[]): Promise<Expiring[]> {
  const now = deps.now();
  const ids = objects.flatMap((object) => listNoticeIds(object, now));
  const sentAt = await findEventTimes(deps.db, ids);
  const ended = objects.filter((object) => isDue(object.object, now) && isAnnounced(object, sentAt, now));
  const notices = objects
    .filter((object) => !ended.includes(object))
    .flatMap((object) => composeNotice(object, now) ?? [])
    .filter(({ eventUid }) => !sentAt.has(eventUid));
  if (notices.length > 0) await deps.db.transaction((tx) => appendFeedEvents(tx, notices));
  return ended;
}

/** One that cannot be deleted keeps no other one, and is tried again in the next run. */
async function expireOrLog(deps: Deps, object: Expiring): Promise<void> {
  const { id } = object;
  try {
    await expire(deps, object);
    deps.log.info({ id }, "deleted what is past its end date");
  } catch (err) {
    // Its end date, its protection or a suspension has changed: its conditions say so.
    if (!(err instanceof ApiError && EXPECTED.has(err.code)))
      deps.log.error({ id, err }, "what is past its end date is not deleted");
  }
}

async function expire(deps: Deps, object: Expiring): Promise<void> {
  const { now } = deps;
  const scheduled = (current: Pick<Expiring, "id" | "object">) => {
    const { expiresAt } = current.object.spec;
    const isAnnouncedExpiry = isSameExpiry(expiresAt, object.object.spec.expiresAt);
    if (!isAnnouncedExpiry || !isDue(current.object, now())) throw notDue();
    return {
      after: { reason: "schedule", expires_at: expiresAt },
      check: (tx: Queryable) => requireFirst(tx, object),
    };
  };
  if (!("clusterId" in object)) {
    await deleteCluster(deps, asAuthorized(systemAuthor(EXPIRY_JOB)), object, { scheduled });
    return;
  }
  await deleteNodePool(deps, asAuthorized(systemAuthor(EXPIRY_JOB)), object, { scheduled });
}

/**
 * Leaders may overlap for seconds: the audit log has a deletion once. The intent is looked for first, for another leader removes it in
 * the transaction that writes the record: who finds none finds the record of a deletion that has ended meanwhile.
 */
async function requireFirst(tx: Queryable, object: Expiring): Promise<void> {
  const { orgId, id } = object;
  await lockExpiry(tx, id);
  if (await isWriteIntended(tx, { verb: "delete", objectId: id })) throw notDue();
  const current =
    "clusterId" in object
      ? await findNodePool(tx, orgId, object.clusterId, id)
      : await findCluster(tx, orgId, id);
  if (current === undefined || current.status === "deleting") throw notDue();
}

function notDue(): ApiError {
  return new ApiError("conflict", "The end date has changed, or it is being deleted already.");
}
