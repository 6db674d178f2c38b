import type { AuditEntry, AuditFields, DeletedResource } from "../table.ts";

/** A successful request to delete an object, or all of a collection, in the Kubernetes API. */
export interface DeletionRequest {
  orgId: string;
  resource: DeletedResource;
  /** Empty for a collection. */
  name: string;
  /** Who deleted. */
  username: string;
  /** Who acted under that name; empty when no other user did. */
  impersonator: string;
  receivedAt: Date;
  completedAt: Date;
}

/** The deletion of an object that was not requested by REST. */
export interface ExternalDeletion {
  orgId: string;
  resource: DeletedResource;
  name: string;
  createdAt: Date;
  /** When it was requested, to the second; null for an object that was gone at once. */
  requestedAt: Date | null;
  seenAt: Date;
  /** As it is written while no deleter is known. */
  entry: AuditEntry;
}

type Deleter = Pick<DeletionRequest, "username" | "impersonator">;

/** Between the clocks of the Kubernetes API and of this program. */
const TOLERANCE_MS = 5000;
const SECOND_MS = 1000;
const MAX_DELETERS = 5;

/**
 * Who may have requested this deletion, each once: whose request was under way when it was requested. A deletion that
 * is requested again succeeds too, so one that began after the first had ended is none. Of an object that was gone at
 * once: every one since its creation.
 */
export function findDeleters(deletion: ExternalDeletion, requests: readonly DeletionRequest[]): Deleter[] {
  const { orgId, resource, name, requestedAt, createdAt, seenAt } = deletion;
  const ofObject = requests.filter(
    (request) =>
      request.orgId === orgId &&
      request.resource === resource &&
      (request.name === name || request.name === ""),
  );
  const [from, to] =
    requestedAt === null
      ? [createdAt.getTime(), seenAt.getTime() + TOLERANCE_MS]
      : [requestedAt.getTime(), requestedAt.getTime() + SECOND_MS - 1];
  const possible = ofObject.filter(
    ({ receivedAt, completedAt }) => receivedAt.getTime() <= to && completedAt.getTime() >= from,
  );
  const firstEnd = Math.min(...possible.map(({ completedAt }) => completedAt.getTime()));
  const first = possible.filter(({ receivedAt }) => requestedAt === null || receivedAt.getTime() <= firstEnd);
  const distinct = new Map(
    first.map(({ username, impersonator }) => [
      JSON.stringify([username, impersonator]),
      { username, impersonator },
    ]),
  );
  return [...distinct.values()];
}

/**
 * The actor of a deletion, and what its entry says besides. Where several may have requested it, none of them is named
 * as the one.
 */
export function nameDeleter(
  { entry }: Pick<ExternalDeletion, "entry">,
  deleters: readonly Deleter[],
): { username: string | undefined; after: AuditFields | undefined } {
  const [only, ...others] = deleters;
  if (only === undefined) return { username: undefined, after: entry.after };
  if (others.length > 0) {
    const names = [...new Set(deleters.map(({ username }) => username))].sort().slice(0, MAX_DELETERS);
    return { username: undefined, after: { ...entry.after, possible_deleters: names } };
  }
  const { username, impersonator } = only;
  return {
    username,
    after: impersonator === "" ? entry.after : { ...entry.after, impersonated_by: impersonator },
  };
}
