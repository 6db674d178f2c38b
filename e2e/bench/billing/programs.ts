/** How much the organizations of a database used. */
export interface UsageSizes {
  organizations: number;
  /** Clusters of each organization. */
  clusters: number;
  /** Pools of each cluster. */
  pools: number;
  /** Machines of each pool. */
  machines: number;
  /** Whole months up to October 2026. */
  months: number;
  /** After how many days a machine is replaced by another one. */
  replacedAfterDays: number;
}

/** A page that a tenant reads. */
export type BillingPage = "usage" | "forecast" | "budget";

/** What one run took. */
export interface Cost {
  seconds: number;
  /** Processor time of the program, without Postgres. */
  cpuSeconds: number;
}

/** The functions of the API server that bill, in a separate process with a separate database. */
export interface BillingProgram {
  open(settings: { adminUrl: string }): Promise<void>;
  /** Adds organizations that have a profile, a budget and usage. Returns their ids. */
  addOrganizations(sizes: UsageSizes): Promise<string[]>;
  /** How long a page takes for each of these organizations in turn, in ms, and how large it is. */
  readPages(reading: {
    page: BillingPage;
    orgIds: readonly string[];
    rounds: number;
  }): Promise<{ ms: number[]; bytes: number }[]>;
  /** Closes October 2026. Memory: MB of heap in use after a collection, after a tenth and after all invoices. */
  close(): Promise<Cost & { invoices: number; heapMB: { early: number; late: number } }>;
  /** How long the document of each of so many invoices takes, in ms. */
  writeDocuments(count: number): Promise<number[]>;
  /** One round of alerts, of budgets that are all due or none of which is. */
  sendAlerts(due: "all" | "none"): Promise<Cost & { events: number }>;
  drop(): Promise<void>;
}
