import type { Deps } from "../deps.ts";
import { purgeFeedEvents } from "../events/feed.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { purgeStreamTickets } from "./store.ts";

const RETENTION_DAYS = 7;
const PURGE_EVENTS_EVERY_MS = 60 * 60_000;
const PURGE_TICKETS_EVERY_MS = 60_000;

/** Delete events after their retention of seven days, and expired stream tickets. */
export function systemEventJobs({ db }: Pick<Deps, "db">): PeriodicJob[] {
  return [
    {
      name: "purge-system-events",
      everyMs: PURGE_EVENTS_EVERY_MS,
      run: () => purgeFeedEvents(db, RETENTION_DAYS),
    },
    { name: "purge-stream-tickets", everyMs: PURGE_TICKETS_EVERY_MS, run: () => purgeStreamTickets(db) },
  ];
}
