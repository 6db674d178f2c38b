import { numeric } from "drizzle-orm/pg-core";

/** Any double has at most 309 digits before the point; 6 decimals are kept. */
export const eurosColumn = (name: string) => numeric(name, { precision: 320, scale: 6 });

/** What any price makes of any quantity. */
export const centsColumn = (name: string) => numeric(name, { precision: 400, scale: 0, mode: "bigint" });
