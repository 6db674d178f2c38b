import { truncateText } from "../../shared/program/wording.ts";
import { toStorable } from "../db/statement.ts";
import type { Deps } from "../deps.ts";
import type { Author } from "../http/authentication/principal.ts";
import type { StaffRequest } from "../http/contract/router.ts";
import { idSchema } from "../http/contract/validate.ts";
import { recordAudit, recordAuditsOf, toActor } from "./record.ts";
import { countRefusedRequest, takeRefusedRequests } from "./store.ts";

const MAX_PATH_LENGTH = 512;
const MAX_QUERY_VALUE_LENGTH = 256;
const HOUR_MS = 60 * 60_000;

/**
 * Records a request of the platform's staff that changed nothing, with its organization and its query. One that was
 * refused for lack of the role is recorded without both, so that no outsider can write into the log of an organization;
 * its repetitions within the hour are counted, and recorded together when the hour is over.
 */
export async function recordStaffRequest(
  deps: Pick<Deps, "db" | "now">,
  author: Author,
  request: StaffRequest,
): Promise<void> {
  const entry = {
    action: actionOf(request.operation.operationId),
    target: { kind: "path", id: truncateText(toStorable(request.path), MAX_PATH_LENGTH) },
  };
  if (author.asStaff === true) {
    const orgId = idSchema.safeParse(request.orgId);
    const query = Object.entries(toStorable(request.query)).map(([name, value]) => [
      truncateText(name, MAX_QUERY_VALUE_LENGTH),
      truncateText(value, MAX_QUERY_VALUE_LENGTH),
    ]);
    await recordAudit(deps.db, author, {
      ...entry,
      orgId: orgId.success ? orgId.data : null,
      after: { status: request.status, ...(query.length > 0 ? { query: Object.fromEntries(query) } : {}) },
      result: request.status < 400 ? "done" : "failed",
    });
    return;
  }
  const { principal } = author;
  await deps.db.transaction(async (tx) => {
    const count = await countRefusedRequest(tx, {
      actorId: principal.kind === "token" ? principal.tokenId : principal.userId,
      operationId: request.operation.operationId,
      hour: startOfHour(deps.now()),
      actor: toActor(author),
    });
    if (count > 1) return;
    await recordAudit(tx, author, {
      ...entry,
      orgId: null,
      after: { status: request.status },
      result: "failed",
    });
  });
}

/** Records the repetitions of refused requests of every hour that is over, one row for each author and operation. */
export async function recordRefusedRequests(deps: Pick<Deps, "db" | "now">): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const counted = await takeRefusedRequests(tx, startOfHour(deps.now()));
    await recordAuditsOf(
      tx,
      counted
        .filter(({ count }) => count > 1)
        .map(({ actor, operationId, count, hour }) => ({
          actor,
          entry: {
            action: actionOf(operationId),
            orgId: null,
            target: { kind: "operation", id: operationId },
            after: { requests: count, hour: hour.toISOString() },
            result: "failed",
          },
        })),
    );
  });
}

function actionOf(operationId: string): string {
  return `admin.${operationId}`;
}

function startOfHour(time: Date): Date {
  return new Date(time.getTime() - (time.getTime() % HOUR_MS));
}
