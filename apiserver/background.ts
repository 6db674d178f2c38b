import { apiTokenJobs } from "./api-tokens/index.ts";
import { memberHooks } from "./app.ts";
import { auditJobs } from "./audit/jobs.ts";
import { budgetJobs, invoiceJobs, packageJobs, usageJobs } from "./billing/index.ts";
import { clusterAccessJobs, startAccessObserver } from "./cluster-accesses/index.ts";
import { expiryJobs } from "./clusters/index.ts";
import type { Deps } from "./deps.ts";
import { idempotencyJobs } from "./http/idempotency/jobs.ts";
import { groupMembershipJobs } from "./members/index.ts";
import { keepProtection, organizationJobs } from "./organizations/index.ts";
import { listRegistryUsage, registryJobs, startImageScanner } from "./registry/index.ts";
import { projectionJobs } from "./resources/project/jobs.ts";
import { startProjector } from "./resources/project/projector.ts";
import { writeIntentJobs } from "./resources/write/index.ts";
import { storageQuotaJobs } from "./storage-quotas/index.ts";
import { startHarvester, systemEventJobs } from "./system-events/index.ts";
import { attachmentJobs } from "./tickets/index.ts";
import { startWebhookDeliverer, webhookJobs } from "./webhooks/index.ts";
import { runPeriodically } from "./work/periodic.ts";

/** Starts the background loops of this process's roles. Resolves when all have stopped after `signal` aborts. */
export async function startBackground(deps: Deps, signal: AbortSignal): Promise<void> {
  const { sql, log } = deps;
  const loops: Promise<void>[] = [];
  if (deps.config.roles.includes("projector")) {
    const jobs = [
      ...auditJobs(deps),
      ...organizationJobs(deps),
      ...apiTokenJobs(deps),
      ...groupMembershipJobs(deps, memberHooks),
      ...packageJobs(deps),
      ...budgetJobs(deps),
      ...storageQuotaJobs(deps),
      ...clusterAccessJobs(deps),
      ...expiryJobs(deps),
      ...writeIntentJobs(deps),
      ...projectionJobs(deps),
      ...systemEventJobs(deps),
      ...webhookJobs(deps),
      ...invoiceJobs(deps),
      ...attachmentJobs(deps),
      ...usageJobs(deps, () => listRegistryUsage(deps.db)),
      ...registryJobs(deps),
      ...idempotencyJobs(deps),
    ];
    loops.push(
      runPeriodically({ sql, log, signal }, jobs),
      startProjector(deps, signal, {
        keepProtection: (namespace, objects) => keepProtection(deps, namespace, objects),
      }).stopped,
      startAccessObserver(deps, signal).stopped,
    );
  }
  if (deps.config.systemEvents.isEnabled && deps.config.roles.includes("harvester"))
    loops.push(startHarvester(deps, signal).stopped);
  if (deps.config.roles.includes("webhooks")) loops.push(startWebhookDeliverer(deps, signal).stopped);
  if (deps.config.roles.includes("scanner")) loops.push(startImageScanner(deps, signal).stopped);
  await Promise.all(loops);
}
