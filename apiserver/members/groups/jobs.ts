import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import type { MemberHooks } from "../hooks.ts";
import { purgeGrants } from "./grant-store.ts";
import { listLapsed } from "./member-store.ts";
import { inOpenOrganization, settleMembers } from "./settle.ts";

const SETTLE_EVERY_MS = 2_000;
const PURGE_EVERY_MS = 3_600_000;
const BATCH = 500;

/** The jobs that end memberships by groups, or give them the weaker role that is left. */
export function groupMembershipJobs(deps: Pick<Deps, "db">, hooks: MemberHooks): PeriodicJob[] {
  return [
    {
      name: "group-memberships",
      everyMs: SETTLE_EVERY_MS,
      run: (signal) => settleLapsed(deps, hooks, signal),
    },
    { name: "purge-group-grants", everyMs: PURGE_EVERY_MS, run: () => purgeGrants(deps.db) },
  ];
}

async function settleLapsed(
  { db }: Pick<Deps, "db">,
  hooks: MemberHooks,
  signal: AbortSignal,
): Promise<void> {
  for (const { orgId, userId } of await listLapsed(db, BATCH)) {
    if (signal.aborted) return;
    await inOpenOrganization(db, orgId, (tx) =>
      settleMembers(tx, hooks, { orgId, author: "system" }, [{ userId }]),
    );
  }
}
