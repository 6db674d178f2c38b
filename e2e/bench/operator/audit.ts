import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline";

/** One request in the audit log. */
interface AuditEvent {
  stage: string;
  verb: string;
  requestURI?: string;
  userAgent?: string;
  objectRef?: { resource: string; subresource?: string; apiGroup?: string };
}

const WRITES = ["create", "update", "patch", "delete", "deletecollection"];
const OPERATOR = "marina-operator";

/** An offset in the log, to count from. */
export function endOf(auditLog: string): number {
  return statSync(auditLog, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Requests of the operator (by its user agent) per "verb resource.group/subresource"; a watch counts when it is opened.
 */
export async function countRequests(auditLog: string, from: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for await (const line of createInterface({ input: createReadStream(auditLog, { start: from }) })) {
    if (!line.includes(OPERATOR) || !line.endsWith("}")) continue;
    const event: AuditEvent = JSON.parse(line);
    const isCounted = event.stage === (event.verb === "watch" ? "ResponseStarted" : "ResponseComplete");
    if (event.userAgent !== OPERATOR || !isCounted) continue;
    const { resource = "", apiGroup, subresource } = event.objectRef ?? {};
    const name = [resource, apiGroup].filter((part) => part !== undefined).join(".");
    const dryRun = event.requestURI?.includes("dryRun=All") === true ? "dry-run " : "";
    const key = `${dryRun}${event.verb} ${name}${subresource === undefined ? "" : `/${subresource}`}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** What is created and stored nowhere: a question about the operator's own rights. */
const REVIEWS = /^create selfsubject\w+reviews\./;

/** How many of them stored something; writes of the leader Lease are not counted. */
export function countWrites(counts: ReadonlyMap<string, number>): number {
  return [...counts]
    .filter(([key]) => WRITES.includes(key.split(" ")[0] ?? ""))
    .filter(([key]) => !key.includes(" leases.") && !REVIEWS.test(key))
    .reduce((total, [, count]) => total + count, 0);
}
