import { percentile } from "../measure.ts";
import { report } from "../report.ts";
import { withBillingProgram } from "./program.ts";

const ORGANIZATIONS = 1000;
const SIZES = {
  organizations: ORGANIZATIONS,
  clusters: 10,
  pools: 3,
  machines: 3,
  months: 1,
  replacedAfterDays: 31,
};
const DOCUMENTS = 200;
/** The first one reads the fonts. */
const WARM_UP = 1;

/**
 * The close of a month of 1,000 organizations with 10 clusters of 3 pools each, and the documents of their invoices.
 */
export async function benchClose(): Promise<void> {
  await withBillingProgram(async (program) => {
    await program.call("addOrganizations", SIZES);
    const { seconds, cpuSeconds, invoices, heapMB } = await program.call("close");
    const documents = (await program.call("writeDocuments", DOCUMENTS + WARM_UP)).slice(WARM_UP);
    report(`billing close, ${ORGANIZATIONS} organizations`, [
      { name: "all invoices issued", value: seconds, unit: "s", limit: 60 },
      { name: "CPU without Postgres", value: cpuSeconds, unit: "s" },
      { name: "organizations without an invoice", value: ORGANIZATIONS - invoices, unit: "", limit: 0 },
      {
        name: "heap after all invoices to after a tenth",
        value: heapMB.late / heapMB.early,
        unit: "x",
        limit: 1.2,
      },
      { name: "document: median", value: percentile(documents, 0.5), unit: "ms" },
      { name: "document: p99", value: percentile(documents, 0.99), unit: "ms", limit: 100 },
    ]);
  });
}
