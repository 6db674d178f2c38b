import { type ConditionLike, findCondition, type Problem } from "../../shared/controller/conditions.ts";

interface ReportedStatus {
  message?: string | undefined;
  firstReadyAt?: string | undefined;
  conditions?: readonly ConditionLike<string>[] | undefined;
}

/** Progress is slow by nature: a Warning about it would mislead. */
const SLOW_REASONS = new Set(["Upgrading", "RollingOut", "UpgradeInProgress"]);
/** How long machines take to start is the provider's matter, many minutes on some: before the first readiness no Warning. */
const CREATION_REASONS = new Set(["WaitingForControlPlane", "WaitingForNodes", "WaitingForEndpoint"]);

/** A wait that an Event tells of. */
export interface LongWait extends Problem {
  type: "Normal" | "Warning";
}

/**
 * A wait that `status.message` has begun to report, or reports with another reason than before. What is still in
 * progress when an object becomes ready is not one: it has only just become the reason. Nor is a deletion that nothing
 * holds up, or one that was told before as `NodeStartupTimeout`, where the caller says that it may be (`mayFollowLateNode`).
 * `takesItsTime`: all that it waits for is the infrastructure, within the time that this may take.
 */
export function findLongWait(
  last: ReportedStatus | undefined,
  next: ReportedStatus,
  {
    takesItsTime = false,
    mayFollowLateNode = false,
  }: { takesItsTime?: boolean; mayFollowLateNode?: boolean } = {},
): LongWait | undefined {
  const reconciling = findCondition(next.conditions, "Reconciling");
  if (reconciling?.status !== "True" || next.message !== reconciling.message) return undefined;
  const isReady = (status?: ReportedStatus) => findCondition(status?.conditions, "Ready")?.status === "True";
  if (isReady(next) && !isReady(last)) return undefined;
  const before = findCondition(last?.conditions, "Reconciling");
  const { reason, message } = reconciling;
  const wasSame = before?.reason === reason || (mayFollowLateNode && before?.reason === "NodeStartupTimeout");
  const isReported = last?.message !== undefined && wasSame;
  const isProgress =
    SLOW_REASONS.has(reason) || (reason === "Provisioning" && !isReady(next)) || reason === "Deleting";
  if (isReported || isProgress) return undefined;
  const isExpected = takesItsTime || (next.firstReadyAt === undefined && CREATION_REASONS.has(reason));
  return { type: isExpected ? "Normal" : "Warning", reason, message };
}
