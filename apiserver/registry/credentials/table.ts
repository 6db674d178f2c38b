import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { time } from "../../db/columns.ts";
import { organizations } from "../../organizations/table.ts";

/** Credentials with which clusters pull images. Each ends with its cluster; of a password only the hash is kept. */
export const registryCredentials = pgTable(
  "registry_credentials",
  {
    id: uuid().primaryKey(),
    orgId: uuid("org_id")
      .notNull()
      .references(() => organizations.id),
    clusterId: uuid("cluster_id").notNull(),
    /** SHA-256 of the whole password, in hexadecimal. */
    secretHash: text("secret_hash").notNull(),
    createdAt: time("created_at").notNull(),
    /** Not later than a minute after the last use. */
    lastUsedAt: time("last_used_at"),
  },
  (table) => [index("registry_credentials_org_idx").on(table.orgId, table.id)],
);

export type CredentialRow = typeof registryCredentials.$inferSelect;
