import { messageOf } from "../../../shared/program/errors.ts";
import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import type { MemberHooks } from "../hooks.ts";
import { recordConfiguredMappings } from "./configured.ts";
import { inOpenOrganization, settleMembers } from "./settle.ts";
import { listLapsed, purgeGrants } from "./store.ts";

const SETTLE_EVERY_MS = 2_000;
const PURGE_EVERY_MS = 3_600_000;
const CONFIGURE_EVERY_MS = 60_000;
const BATCH = 500;

/**
 * The jobs that end memberships by groups, or give them the weaker role that is left, and that make the mappings of the
 * configuration what this process has read, whatever a process of an earlier configuration has recorded since its
 * start.
 */
export function groupMembershipJobs(
  deps: Pick<Deps, "config" | "db" | "log">,
  hooks: MemberHooks,
): PeriodicJob[] {
  return [
    {
      name: "group-memberships",
      everyMs: SETTLE_EVERY_MS,
      run: (signal) => settleLapsed(deps, hooks, signal),
    },
    {
      name: "configured-group-mappings",
      everyMs: CONFIGURE_EVERY_MS,
      run: () => recordConfiguredMappings(deps, hooks, deps.config.issuers),
    },
    { name: "purge-group-grants", everyMs: PURGE_EVERY_MS, run: () => purgeGrants(deps.db) },
  ];
}

/** Settles memberships whose time is over, each in its own transaction; one that fails is left to the next run. */
export async function settleLapsed(
  { db, log }: Pick<Deps, "db" | "log">,
  hooks: MemberHooks,
  signal: AbortSignal,
): Promise<void> {
  for (const { orgId, userId } of await listLapsed(db, BATCH)) {
    if (signal.aborted) return;
    try {
      await inOpenOrganization(db, orgId, (tx) =>
        settleMembers(tx, hooks, { orgId, author: "system" }, [{ userId }]),
      );
    } catch (error) {
      const message = messageOf(error);
      log.warn({ orgId, userId, message }, "a membership by a group is not settled yet; it is tried again");
    }
  }
}
