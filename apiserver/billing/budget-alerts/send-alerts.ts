import type { Deps } from "../../deps.ts";
import { emitEvents } from "../../outbox/index.ts";
import { centsToEuros, toEuros } from "../money.ts";
import { monthOf } from "../month.ts";
import { readRatingSource } from "../rating/read.ts";
import { findAlerts, findWatchedMonths } from "./alerts.ts";
import { insertFired, listDueBudgets, listFired, lockDueBudget, scheduleCheck } from "./store.ts";

const BATCH = 200;

type AlertDeps = Pick<Deps, "db" | "now" | "log">;

/**
 * Compares the spend of every organization whose budget is due when the round starts, and sends `usage.alert` for what was
 * reached. What falls due meanwhile waits for the next round, so that no tenant can keep one going.
 */
export async function sendAlerts(deps: AlertDeps, signal: AbortSignal): Promise<void> {
  const startedAt = deps.now();
  const failed = new Set<string>();
  for (;;) {
    const due = await listDueBudgets(deps.db, startedAt, BATCH + failed.size);
    const orgIds = due.filter((orgId) => !failed.has(orgId));
    if (orgIds.length === 0) return;
    for (const orgId of orgIds) {
      if (signal.aborted) return;
      try {
        await sendAlertsOf(deps, orgId);
      } catch (error) {
        failed.add(orgId);
        deps.log.error({ orgId, err: error }, "the budget of an organization could not be compared");
      }
    }
  }
}

/**
 * Compares one organization's spend. Each threshold fires once in a month, in the transaction of its event, so that
 * neither a second replica nor a death in between sends it twice or not at all.
 */
async function sendAlertsOf({ db, now: clock }: AlertDeps, orgId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const now = clock();
    const budget = await lockDueBudget(tx, orgId, now);
    if (budget === undefined) return;
    let nextAt = monthOf(now).end;
    for (const month of findWatchedMonths(now)) {
      const fired = await listFired(tx, orgId, month.name);
      const source = await readRatingSource(tx, orgId, month);
      const alerts = findAlerts(source, budget, fired, now);
      const { reachedPct, spendCents } = alerts;
      const rows = reachedPct.map((thresholdPct) => ({
        orgId,
        month: month.name,
        thresholdPct,
        spendCents,
        firedAt: now,
      }));
      await insertFired(tx, rows);
      const figures = {
        budget_eur: toEuros(budget.limitMicroEuros),
        spend_eur: centsToEuros(spendCents),
        billing_month: month.name,
      };
      const events = reachedPct.map((pct) => ({
        orgId,
        type: "usage.alert" as const,
        occurredAt: now,
        data: { ...figures, threshold_pct: pct },
      }));
      await emitEvents(tx, events);
      if (alerts.nextAt !== undefined && alerts.nextAt < nextAt) nextAt = alerts.nextAt;
    }
    await scheduleCheck(tx, orgId, nextAt);
  });
}
