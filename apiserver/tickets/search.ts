import { type SQL, sql } from "drizzle-orm";
import { ticketMessages, tickets } from "./table.ts";

/**
 * Whether a ticket has these words in one of its messages, in the search language of `websearch_to_tsquery`. Words are
 * compared without regard to case and without a dictionary, so that names and numbers are found as they are written.
 */
export function hasWords(words: string, cursor: string | undefined): SQL {
  const before = cursor === undefined ? sql`true` : sql`${ticketMessages.ticketId} < ${cursor}`;
  return sql`${tickets.id} in (
    select ${ticketMessages.ticketId} from ${ticketMessages}
    where ${ticketMessages.search} @@ websearch_to_tsquery('simple', ${words}) and ${before})`;
}
