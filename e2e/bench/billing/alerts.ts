import { report } from "../report.ts";
import { withBillingProgram } from "./program.ts";

const ORGANIZATIONS = 10_000;
const SIZES = {
  organizations: ORGANIZATIONS,
  clusters: 1,
  pools: 1,
  machines: 3,
  months: 1,
  replacedAfterDays: 31,
};

/**
 * One round of alerts over 10,000 budgets: once all are due, with one threshold to report each, and once none is due.
 */
export async function benchAlerts(): Promise<void> {
  await withBillingProgram(async (program) => {
    await program.call("addOrganizations", SIZES);
    const due = await program.call("sendAlerts", "all");
    const none = await program.call("sendAlerts", "none");
    report(`billing alerts, ${ORGANIZATIONS} budgets`, [
      { name: "all due: CPU without Postgres", value: due.cpuSeconds, unit: "s", limit: 5 },
      { name: "all due: time", value: due.seconds, unit: "s" },
      { name: "all due: events", value: due.events, unit: "", atLeast: ORGANIZATIONS },
      { name: "none due: time", value: none.seconds * 1000, unit: "ms", limit: 50 },
    ]);
  });
}
