import { pgTable, timestamp, uuid } from "drizzle-orm/pg-core";
import { organizations } from "../../organizations/table.ts";

/** Organizations that were ever given a token to push: only these may have images. */
export const registryPushGrants = pgTable("registry_push_grants", {
  orgId: uuid("org_id")
    .primaryKey()
    .references(() => organizations.id),
  /** When the first token was given. */
  grantedAt: timestamp("granted_at", { withTimezone: true, mode: "date", precision: 3 }).notNull(),
});
